package screen

import "time"

// Overview is the answer of the control handler, as far as it is printed.
type Overview struct {
	At          time.Time
	Version     string
	Role        string
	Needs       []need
	NeedsCount  int `json:"needs_count"`
	Centre      *centre
	Keys        []key
	Certificate *struct {
		Ends time.Time `json:"expires_at"`
	}
	places
	figures
	store
}

// places are the events and the laptops.
type places struct {
	Events       []event
	EventsCount  int `json:"events_count"`
	Laptops      []laptop
	LaptopsCount int `json:"laptops_count"`
}

// figures are counts.
type figures struct {
	Doubles   int `json:"double_entries"`
	Reviews   int
	Conflicts int
	Refusals  int
	Records   map[string]int
	Tickets   map[string]int
}

// store is the state of the store's file, its backups and its clock.
type store struct {
	Erasures struct {
		Unfinished  int
		Uncompacted int
		Since       *time.Time
	}
	Backup *struct {
		At   time.Time
		File string
	}
	Verify *struct {
		At     time.Time
		Faults int64
	}
	Store struct {
		Writable bool
		Bytes    int64  `json:"file_bytes"`
		Free     *int64 `json:"disk_free_bytes"`
	}
	Clock struct {
		Doubted  bool
		Measured *time.Time `json:"measured_at"`
		Offset   *int64     `json:"clock_offset_ms"`
	}
}

type need struct {
	Text    string
	Command []string
	On      *string // the laptop that the command is for; nil = this machine
	See     *string
}

type event struct {
	ID         int64
	Name       string
	Start      time.Time `json:"start_datetime"`
	Expected   int
	Admitted   int
	Inside     int
	Reentry    bool
	Doubles    int `json:"double_entries"`
	Doors      []door
	DoorsCount int `json:"doors_count"`
}

type door struct {
	Name     string
	Admitted int
	LastScan time.Time `json:"last_scan"`
	Silent   bool
}

type laptop struct {
	Name        string
	LastContact *string `json:"last_contact"`
	Backlog     *int
	Offset      *int64 `json:"clock_offset_ms"`
	Version     *string
	Revoked     bool
	Wiped       bool
	Joined      *time.Time `json:"joined_at"`
	WipeOrdered *time.Time `json:"wipe_ordered_at"`
	Replaced    bool
	Needs       []string
}

type centre struct {
	URL         string
	Name        string
	LastContact *time.Time `json:"last_contact"`
	Backlog     *int
	Oldest      *time.Time `json:"oldest_backlog_at"`
	Ends        *time.Time `json:"credential_expires_at"`
	Events      []int64
	Drops       []struct {
		EventID int64 `json:"event_id"`
		At      time.Time
	}
}

type key struct {
	Name    string
	Level   string
	Ends    time.Time `json:"expires_at"`
	Expired bool
}
