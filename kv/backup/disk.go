package backup

import "doorward/kv/table"

// RoomBeside returns nil or a *DiskFull: has the disk of a folder's store room for so many bytes of what another than the store writes there,
// without taking it from what people make?
func RoomBeside(c table.Config, what string, bytes int64) error {
	return c.Room().CheckFile(what, bytes)
}
