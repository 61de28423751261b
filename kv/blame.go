package kv

import (
	"errors"
	"fmt"

	"doorward/kv/engine"
)

// blamed is an error of a store, by the name of the file that is the cause and the newest backup of what is in it.
func blamed(c Config, err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("the file %s: %w", Path(c.Dir), err)
	}
	err = engine.Blamed(Path(c.Dir), err)
	var bad *BadFile
	if errors.As(err, &bad) {
		bad.Backup = NewestBackup(c.Dir, c.Zone)
	}
	return err
}

// Blamed is an error of the store in words for the owner of its file: damage comes as a *BadFile.
func (s *Store) Blamed(err error) error { return blamed(Config{Dir: s.dir, Zone: s.zone}, err) }
