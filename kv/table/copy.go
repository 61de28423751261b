package table

// Dir is the store's folder.
func (s *Set) Dir() string { return s.Folder }
