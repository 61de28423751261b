// Package laptop is a laptop's own side of its centre: joining, what the centre takes and gives, the leases it spends, the mirror of another
// system that it feeds, and the events that it hands back.
package laptop
