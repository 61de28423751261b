// Package screen is the overview of a congregation as an operator reads it: one screen of text. What needs a person stands first,
// the most urgent need at the top, each with the command to run. Below it stand events, doors, laptops and figures.
//
// The overview is the answer of the control handler to GET /control/status, as far as it is printed. No name in it can change the
// terminal.
package screen
