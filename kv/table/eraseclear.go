package table

// ErasePage is how many rows an eraser looks at in one View.
const ErasePage = 500
