package cells

import (
	"strconv"
	"time"
)

// IsDated tells a text that begins with a date, or is one as a workbook stores it.
func IsDated(text string) bool {
	_, ok := ThreeNumbers(text)
	return ok || isSerial(text)
}

// isSerial tells a day of this century as a workbook stores it.
func isSerial(text string) bool {
	days, err := strconv.ParseFloat(text, 64)
	return err == nil && days >= 36526 && days < 73050
}

// InZone reads a moment that names no offset in a zone; zero where it is none.
func InZone(moment string, zone *time.Location) time.Time {
	at, err := time.Parse(time.RFC3339, moment)
	if err != nil && zone != nil {
		at, _ = time.ParseInLocation("2006-01-02T15:04:05", moment, zone)
	}
	return at
}
