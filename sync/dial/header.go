package dial

// By fastHeader our own nodes know each other: who sends it to a database and has it sent back may use _feed. Each answer to who
// sends it names the node that gives it.
const (
	HeaderFeed    = "Doorward-Feed"
	FeedVersion   = "1"
	HeaderRealm   = "Doorward-Realm"
	HeaderNode    = "Doorward-Node"
	HeaderEpoch   = "Doorward-Epoch"
	HeaderCodeKey = "Doorward-Code-Key" // to the operator alone
)
