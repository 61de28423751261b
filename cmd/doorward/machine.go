package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// machineFile holds an id that no two machines have in common, on systems that have one.
const machineFile = "/etc/machine-id"

// machine tells this machine from others, without telling which it is; "" = not known. DOORWARD_MACHINE_ID stands in for the
// system's id, where that changes though the machine does not, as in a container.
func (m *Main) machine() string {
	id := []byte(m.env(machineID))
	if len(id) == 0 {
		id, _ = os.ReadFile(machineFile) // where there is none the folder alone tells
	}
	if id = bytes.TrimSpace(id); len(id) == 0 {
		return ""
	}
	sum := sha256.Sum256(append([]byte("doorward machine "), id...))
	return hex.EncodeToString(sum[:16])
}
