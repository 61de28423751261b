package disk

import "maps"

// blockSize is how much of a file has room of its own; SectorSize is what a disk writes whole or not at all.
const (
	blockSize  = 4096
	SectorSize = 512
)

type block = [blockSize]byte

// content is what a file holds. What was never written is zeros and takes no room. Copies share their blocks, which are
// therefore never changed.
type content struct {
	size   int64
	blocks map[int64]*block
}

func (c *content) clone() content { return content{c.size, maps.Clone(c.blocks)} }

// write puts data at an offset, and answers how many bytes the room for new blocks, less than 0 for any, was enough for.
func (c *content) write(data []byte, at int64, room *int64) (n int) {
	for n < len(data) {
		number, within := (at+int64(n))/blockSize, (at+int64(n))%blockSize
		old := c.blocks[number]
		if old == nil && !take(room) {
			break
		}
		next := new(block)
		if old != nil {
			*next = *old
		}
		n += copy(next[within:], data[n:])
		if c.blocks == nil {
			c.blocks = map[int64]*block{}
		}
		c.blocks[number] = next
	}
	if n > 0 {
		c.size = max(c.size, at+int64(n))
	}
	return n
}

// take takes room for a block.
func take(room *int64) bool {
	switch {
	case room == nil || *room < 0:
		return true
	case *room < blockSize:
		return false
	}
	*room -= blockSize
	return true
}

// read fills data from an offset on, and answers how much there was.
func (c *content) read(data []byte, at int64) (n int) {
	if at >= c.size {
		return 0
	}
	data = data[:min(int64(len(data)), c.size-at)]
	clear(data)
	for n < len(data) {
		number, within := (at+int64(n))/blockSize, (at+int64(n))%blockSize
		step := min(blockSize-int(within), len(data)-n)
		if b := c.blocks[number]; b != nil {
			copy(data[n:n+step], b[within:])
		}
		n += step
	}
	return n
}

// cut makes the file as long as size: what is beyond is gone, and zeros if the file grows again.
func (c *content) cut(size int64) {
	if size < c.size {
		for number := range c.blocks {
			if number*blockSize >= size {
				delete(c.blocks, number)
			}
		}
		if b := c.blocks[size/blockSize]; b != nil {
			next := *b
			clear(next[size%blockSize:])
			c.blocks[size/blockSize] = &next
		}
	}
	c.size = size
}
