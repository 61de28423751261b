// Package control is the line between a command and the control handler of a store. The handler acts as the operator of this machine.
//
//	serve runs on the folder:  command → DIR/control.sock (a Unix socket, mode 0600, in a folder of mode 0700) → serve's store
//	otherwise:                 command → the same handler in the same process → the store, which the command opens
//
// So a command does the same whether the server runs or not, and the lock of the store's file never shows. A server acknowledges each request
// before it is sent, and shows every second that it is alive (beat.go): a command does not wait in silence for one that is stopped.
//
// A store that a command made for work that then failed is removed again, as long as it is empty.
package control
