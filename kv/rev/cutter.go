package rev

import "encoding/binary"

// Cutter reads a row from left to right. Short tells that the row ended too early.
type Cutter struct {
	Rest  []byte
	Short bool
}

// Bytes reads n bytes.
func (c *Cutter) Bytes(n int) []byte {
	if n < 0 || n > len(c.Rest) {
		c.Short, c.Rest = true, nil
		return nil
	}
	b := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return b
}

// Byte reads one byte.
func (c *Cutter) Byte() byte {
	if len(c.Rest) == 0 {
		c.Short = true
		return 0
	}
	b := c.Rest[0]
	c.Rest = c.Rest[1:]
	return b
}

// Uvarint reads an unsigned varint.
func (c *Cutter) Uvarint() uint64 {
	if len(c.Rest) > 0 && c.Rest[0] < 0x80 {
		v := c.Rest[0]
		c.Rest = c.Rest[1:]
		return uint64(v)
	}
	if len(c.Rest) > 1 && c.Rest[1] < 0x80 {
		v := uint64(c.Rest[0]&0x7f) | uint64(c.Rest[1])<<7
		c.Rest = c.Rest[2:]
		return v
	}
	v, n := binary.Uvarint(c.Rest)
	if n <= 0 {
		c.Short, c.Rest = true, nil
		return 0
	}
	c.Rest = c.Rest[n:]
	return v
}

// Varint reads a signed varint.
func (c *Cutter) Varint() int64 {
	n := c.Uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// Uint64 reads 8 bytes, big-endian.
func (c *Cutter) Uint64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}
