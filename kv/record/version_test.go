package record_test

import (
	"hash/crc32"
	"strings"
	"testing"

	"doorward/kv/record"
)

// layouts are the stored fields of each kind in table order, as a checksum, with the Version that writes them so.
var layouts = map[string]struct {
	version byte
	fields  uint32
}{
	"church":            {1, 0xa49b7b25},
	"regional":          {1, 0xb6646557},
	"financial_account": {1, 0x1e3dd7a6},
	"category":          {1, 0xb6646557},
	"subcategory":       {1, 0x1439133a},
	"cost_center":       {1, 0xb6646557},
	"business_unit":     {1, 0xb6646557},
	"supplier":          {1, 0xbbaed3d5},
	"role":              {1, 0xb6646557},
	"person":            {1, 0x1b16d078},
	"group":             {1, 0xb1d73be2},
	"membership":        {1, 0x533f0056},
	"financial_entry":   {1, 0x5c9076b1},
	"event":             {3, 0x8799e0fd},
	"ticket":            {2, 0xa8961730},
	"holder_name":       {2, 0x837f557c},
	"holder":            {2, 0x70672b54},
	"checkin":           {4, 0x2c95a489},
	"scan":              {2, 0x19ee0fa5},
	"undo":              {2, 0xa2368318},
	"api_key":           {2, 0x4c0b572},
	"conflict":          {1, 0x219a6cf7},
	"refusal":           {1, 0x8ca19d8c},
	"node":              {1, 0x7e2d2e14},
	"erasure":           {1, 0x38fe09b2},
	"ticket_code":       {1, 0xc7101f2a},
	"holder_label":      {1, 0xa3e24d98},
}

// A body is written in table order and compared byte by byte: who moves, adds or takes away a stored field raises the kind's
// Version, so that bodies of the old table are written anew when they are read.
func TestTablesChangeWithTheirVersion(t *testing.T) {
	for _, k := range record.Kinds() {
		var names []string
		for i := range k.Fields {
			if k.Fields[i].Stored() {
				names = append(names, k.Fields[i].Name)
			}
		}
		sum := crc32.ChecksumIEEE([]byte(strings.Join(names, ",")))
		if want := layouts[k.Name]; want.version != k.Version || want.fields != sum {
			t.Errorf("%q: {%d, %#x}, is new: raise the Version if bodies of the last one may be in a store", k.Name, k.Version, sum)
		}
	}
}
