package line

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is how much memory a peer's compression may ask for.
const maxWindow = 8 << 20

// Compress compresses lines.
func Compress(w io.Writer) *zstd.Encoder {
	z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // the options are good
	return z
}

// Decompress decompresses lines; what is no zstd is an error of the first Read.
func Decompress(r io.Reader) *zstd.Decoder {
	z, _ := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)) // the options are good
	return z
}

// Media is the type of lines.
const Media = "application/x-ndjson"
