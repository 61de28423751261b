package table

import (
	"errors"
	"fmt"

	"doorward/kv/engine"
)

// Blamed is an error of a store, by the name of the file that is the cause and the newest backup of what is in it.
func Blamed(c Config, err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("the file %s: %w", Path(c.Dir), err)
	}
	err = engine.Blamed(Path(c.Dir), err)
	var bad *engine.BadFile
	if errors.As(err, &bad) {
		bad.Backup = NewestBackup(c.Dir, c.Zone)
	}
	return err
}

// Blamed is an error of the store in words for the owner of its file: damage comes as a *BadFile.
func (s *Set) Blamed(err error) error {
	return Blamed(Config{Dir: s.Folder.Dir, Zone: s.Clock.Zone()}, err)
}
