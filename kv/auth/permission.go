package auth

import (
	"fmt"
	"slices"
	"strings"

	"doorward/kv/record"
)

// Permission is one thing a key may do: a resource and a method, "*" for any.
type Permission struct{ Resource, Method string }

// ParsePermission reads "people:GET", "checkin:*" or "*:*".
func ParsePermission(s string) (Permission, error) {
	resource, method, ok := strings.Cut(strings.TrimSpace(s), ":")
	p := Permission{strings.ToLower(resource), strings.ToUpper(method)}
	if !ok || !slices.Contains(resources(), p.Resource) || !slices.Contains(methods, p.Method) {
		return Permission{}, fmt.Errorf("permission %q: want RESOURCE:METHOD, of %s and %s",
			s, strings.Join(resources(), ", "), strings.Join(methods, ", "))
	}
	return p, nil
}

// PermissionWords are what permissions are made of.
func PermissionWords() (resourceWords, methodWords []string) {
	return resources(), slices.Clone(methods)
}

var methods = []string{"*", "GET", "POST", "PATCH", "PUT", "DELETE"}

// isReserved tells whether only a named permission grants the resource.
func isReserved(resource string) bool { return resource == "admin" || resource == "sync" }

// resources are what permissions can name: the kinds' own, and the surfaces beside /v1.
func resources() []string {
	names := []string{"*", "admin", "sync"}
	for _, k := range record.Kinds() {
		if k.Resource != "" && !slices.Contains(names, k.Resource) {
			names = append(names, k.Resource)
		}
	}
	return names
}

// String is the permission as ParsePermission reads it.
func (p Permission) String() string { return p.Resource + ":" + p.Method }

// covers tells whether p grants want, which may itself hold a "*".
func (p Permission) covers(want Permission) bool {
	return (p.Resource == "*" || p.Resource == want.Resource) && (p.Method == "*" || p.Method == want.Method)
}
