package inbox

import (
	"errors"
	"fmt"

	"doorward/kv/engine"
	"doorward/kv/table"
)

// Blamed is an error of a store, by the name of the file that is the cause and the newest backup of what is in it.
func Blamed(c table.Config, err error) error {
	if errors.Is(err, table.ErrNewerFormat) {
		return fmt.Errorf("the file %s: %w", table.Path(c.Dir), err)
	}
	err = engine.Blamed(table.Path(c.Dir), err)
	var bad *engine.BadFile
	if errors.As(err, &bad) {
		bad.Backup = table.NewestBackup(c.Dir, c.Zone)
	}
	return err
}

// Blamed is an error of the store in words for the owner of its file: damage comes as a *BadFile.
func (bx *Box) Blamed(err error) error {
	return Blamed(table.Config{Dir: bx.tables.Folder, Zone: bx.tables.ZoneOf}, err)
}
