package erase

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func ErasuresGauge(due func() (n int, since time.Time, err error)) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_uncompacted", Help: "Erased records whose bytes may lie in free pages of the file until it is compacted."}, func() float64 {
		n, _, err := due()
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	})
}

func UnfinishedGauge(unfinished func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_unfinished", Help: "Records that are to be erased and could not be: nobody is shown them, and it is tried again."}, func() float64 {
		return float64(unfinished())
	})
}
