package merge

// EndedBody is the body of a revision that ends a losing branch (rev.Ending).
const EndedBody = `{"ended":true}`
