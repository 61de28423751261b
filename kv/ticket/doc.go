// Package ticket makes, changes and deletes a ticket together with the records that belong to it, as one thing.
package ticket
