package api

import (
	"net/http"

	"doorward/api/barcode"
)

// maxPhoto is the largest picture, in bytes. A phone's photo of 12 megapixels takes 3 to 6 MiB.
const maxPhoto = 8 << 20

// photosAtOnce is how many pictures are read at a time; others wait.
const photosAtOnce = 2

// photoFile is the body of a request to read codes.
var photoFile = &fileBody{types: []string{"image/jpeg", "image/png", fileMedia}, example: "the bytes of a JPEG or PNG picture"}

// decoded is what stands on a picture.
type decoded struct {
	Codes []barcode.Code `json:"codes"`
}

// decode answers POST /door/v1/decode/: the codes in a picture, none where it shows none. It decides nothing about tickets.
func decode(x *exchange) error {
	if !photoFile.holds(x.request.Header) {
		return errPhotoType
	}
	if x.request.ContentLength > maxPhoto {
		return errTooLarge
	}
	photo, err := readAll(http.MaxBytesReader(x.ResponseWriter, x.request.Body, maxPhoto), x.request.ContentLength)
	if err != nil {
		return unreadable(err)
	}
	codes, err := x.server.photos.Read(x.request.Context(), photo)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, decoded{codes})
}
