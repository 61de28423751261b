// Package reach knows by which names a server is reached, and from which address and page a request
// comes.
//
// Hosts refuses a request with a Host that is no name of this server: it comes from a DNS rebinding
// page, or the name is forged and would end up in a link. Proxies believes the X-Forwarded headers of
// the listed networks, and of no other. Origins refuses changes that a page of another site asks for.
package reach
