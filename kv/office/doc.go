// Package office is the centre's side of its laptops: enrolment by a code, credentials, leases of ids, contact, revoking and wiping, and which
// events a laptop takes along.
package office
