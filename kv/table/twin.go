package table

const TwinInto = 'i'
