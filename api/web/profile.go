package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
)

// profile is a configuration profile with one authority (Apple, "Configuration Profile Reference"): its name, the two ids and the certificate.
const profile = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
<key>PayloadType</key><string>Configuration</string>
<key>PayloadVersion</key><integer>1</integer>
<key>PayloadDisplayName</key><string>%[1]s</string>
<key>PayloadIdentifier</key><string>doorward.%[2]s</string>
<key>PayloadUUID</key><string>%[2]s</string>
<key>PayloadContent</key>
<array>
<dict>
<key>PayloadType</key><string>com.apple.security.root</string>
<key>PayloadVersion</key><integer>1</integer>
<key>PayloadDisplayName</key><string>%[1]s</string>
<key>PayloadIdentifier</key><string>doorward.%[2]s.root</string>
<key>PayloadUUID</key><string>%[3]s</string>
<key>PayloadCertificateFileName</key><string>doorward.crt</string>
<key>PayloadContent</key><data>%[4]s</data>
</dict>
</array>
</dict>
</plist>
`

// Profile is the file by which an iPhone installs an authority's certificate, in DER. The same certificate makes the same file: an
// iPhone replaces what it has.
func Profile(name string, der []byte) ([]byte, error) {
	var label bytes.Buffer
	if err := xml.EscapeText(&label, []byte(name)); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	sum := sha256.Sum256(der)
	return fmt.Appendf(nil, profile, &label, uuid(sum[:16]), uuid(sum[16:]), base64.StdEncoding.EncodeToString(der)), nil
}

// uuid writes 16 bytes as a UUID of version 8 (RFC 9562).
func uuid(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%X-%X-%X-%X-%X", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
