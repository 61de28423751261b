package line

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is how much memory the sender's compression may need.
const maxWindow = 8 << 20

// Compress compresses lines.
func Compress(w io.Writer) *zstd.Encoder {
	z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // the options are good
	return z
}

// Decompress decompresses lines. The first Read returns an error if they are not zstd.
func Decompress(r io.Reader) *zstd.Decoder {
	z, _ := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)) // the options are good
	return z
}

// Media is the content type of lines.
const Media = "application/x-ndjson"
