// Package phone lets helpers' phones in at the doors of events.
//
//	Role      what a helper is at a door; Near: which doors are set up now
//	Tickets   tickets: each is good once, for a key of one event
//	Console   what the console shows
//
// A principal shows a ticket if it may make the key that the phone gets. That key is made in its name, when the ticket is used:
//
//	Check, Show   a principal that stands → a text, of which Tickets keeps the hash
//	Redeem        the text, and the helper's name → a key of the event, within the level, the permissions and the term of the principal
package phone
