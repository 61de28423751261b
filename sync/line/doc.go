// Package line reads and writes lines, which hold document revisions between our own nodes and in files. A reader notices each line that is missing, spoilt
// or cut, and reads back what a writer has written.
//
// Lines are one JSON object each, compressed with zstd. The first says where they come from. The last says how far they go; without it they were cut.
// A mark, and the last line, say how many lines of revisions and removed documents come before them. Nothing after the mark before counts until the
// number is right.
//
//	{"format":1,"realm":…,"node":…,"epoch":…,"db":"notes","since":"0-…"}
//	{"seq":"7-…","doc":{"_id":…,"_rev":…,"_deleted":true,"_attachments":{…stubs},…},"revs":["3-…","2-…"],"author":{…},"scopes":[…]}
//	{"seq":"8-…","removed":"person:0000000000000001"}
//	{"upto":"8-…","count":2}
//	{"last_seq":"8-…","count":2}
//
// author is {at,key,node,fields}: microseconds since 1970, the number of the api key at that node, the node's ULID, and names of fields. A reader ignores
// members that it does not know. Lines of our own without attachments take a short way (scan); a fuzz test holds it against the long one (Parse).
package line
