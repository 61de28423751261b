package dial

// Headers between our own nodes. A client that sends HeaderFeed, and gets it back from a database, may use _feed. Each answer to a request
// with HeaderFeed names the node that gives it.
const (
	HeaderFeed    = "Doorward-Feed"
	FeedVersion   = "1"
	HeaderRealm   = "Doorward-Realm"
	HeaderNode    = "Doorward-Node"
	HeaderEpoch   = "Doorward-Epoch"
	HeaderCodeKey = "Doorward-Code-Key" // to the operator alone
)
