package engine_test

import (
	"testing"

	"doorward/kv/engine"
	"doorward/kv/engine/enginetest"
)

func TestContract(t *testing.T) {
	enginetest.Run(t, func(c engine.Config) (enginetest.Engine, error) { return engine.Open(c) })
}
