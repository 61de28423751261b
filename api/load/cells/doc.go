// Package cells reads the text of one cell as people write it, and as an export of this program writes it: dates
// (31/12/2026), amounts (1.234,56), yes and no (sim), phones and documents. The result is a JSON value. The kind's table in
// kv/record then decides whether the value is valid.
package cells
