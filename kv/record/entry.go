package record

import (
	"strconv"

	"doorward/kv/names"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// FinancialEntry is money received or spent.
var FinancialEntry = table(Kind{Name: "financial_entry", Number: 13, Version: 1, Resource: "financial_entries",
	Class: Churches, Home: "church_id", scopes: []scopes.Sort{scopes.ChurchFinance},
	Fields: []Field{
		{"transaction_type", Text{Min: 1}, Required, ``},
		{"base_amount", Money{}, Required, `"0.00"`},
		{"description", Text{Max: 300}, Null, ``},
		{"currency", Text{Max: 3}, Null, ``},
		{"paid_amount", Money{}, 0, `"0.00"`},
		{"penalty", Money{}, 0, `"0.00"`},
		{"admin_fee", Money{}, 0, `"0.00"`},
		{"due_date", Date{}, Null, ``},
		{"accrual_date", Date{}, Null, ``},
		{"payment_date", Date{}, Null, ``},
		{"is_paid", Bool{}, 0, `false`},
		{"payment_method", Choice{"billet", "pix", "credit_card", "debit_card", "money", "transference", "bank_check",
			"direct_debit", "other"}, Null, ``},
		{"installment_number", Integer{}, 0, `1`},
		{"recurrence_config", Object{}, Null, ``},
		{"payment_transaction_id", Integer{Min: -MaxID, Max: MaxID}, 0, ``},
		{"interest", Money{}, ReadOnly, `"0.00"`},
		{"discount", Money{}, ReadOnly, `"0.00"`},
		{"original_due_date", Date{}, ReadOnly | Null | Frozen, ``},
		{"original_accrual_date", Date{}, ReadOnly | Null | Frozen, ``},
		{"created_at", DateTime{}, ReadOnly | Null | Frozen, ``},
		{"created_by", keyID, ReadOnly | Null | Frozen, ``},
		{"attachments", Objects{Keys: []string{"id", "name", "content_type", "size", "url", "created_at"}}, ReadOnly, `[]`},

		{"church_id", Ref{"church"}, Required | WriteOnly | Indexed, ``},
		{"financial_account_id", Ref{"financial_account"}, Required | WriteOnly | Indexed, ``},
		{"supplier_id", Ref{"supplier"}, Required | WriteOnly | Indexed, ``},
		{"category_id", Ref{"category"}, Null | WriteOnly | Indexed, ``},
		{"subcategory_id", Ref{"subcategory"}, Null | WriteOnly | Indexed, ``},
		{"cost_center_id", Ref{"cost_center"}, Null | Hidden | Indexed, ``},
		{"business_unit_id", Ref{"business_unit"}, Null | Hidden | Indexed, ``},
		{"small_group_ids", Refs{"group"}, Hidden | Indexed, `[]`},
		{"external_id", Text{Min: 1, Max: 255}, Null | Hidden | Indexed, ``},

		{"base_amount_cents", Derived{centsText("base_amount"), Text{}}, ReadOnly, ``},
		{"paid_amount_cents", Derived{centsOf("paid_amount"), centsType}, ReadOnly, ``},
		{"interest_cents", Derived{centsOf("interest"), centsType}, ReadOnly, ``},
		{"penalty_cents", Derived{centsOf("penalty"), centsType}, ReadOnly, ``},
		{"discount_cents", Derived{centsOf("discount"), centsType}, ReadOnly, ``},
		{"admin_fee_cents", Derived{centsOf("admin_fee"), centsType}, ReadOnly, ``},
		{"display_amount", Derived{displayAmount, amountType{}}, ReadOnly, ``},
		{"amount_multiplier", Derived{amountMultiplier, Integer{Min: -1, Max: 1}}, ReadOnly, ``},
		{"status", Derived{entryStatus, Choice{"paid", "overdue", "pending"}}, ReadOnly, ``},
		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly, ``},
		{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Null, ``},
		{"financial_account", Nested{Kind: "financial_account", ID: "financial_account_id", Keys: []string{"name", "currency"}}, ReadOnly, ``},
		{"church", Nested{Kind: "church", ID: "church_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"category", Nested{Kind: "category", ID: "category_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"subcategory", Nested{Kind: "subcategory", ID: "subcategory_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"cost_center", Nested{Kind: "cost_center", ID: "cost_center_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"business_unit", Nested{Kind: "business_unit", ID: "business_unit_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"supplier", Nested{Kind: "supplier", ID: "supplier_id", Keys: []string{"name", "document"}}, ReadOnly, ``},
		{"small_groups", NestedList{Kind: "group", IDs: "small_group_ids", Keys: []string{"name"}}, ReadOnly, ``},
	}}, settleEntry)

// centsType holds any amount's cents.
var centsType = Integer{Min: -9_999_999_999, Max: 9_999_999_999}

// amountType is a sum of amounts, which may have more digits than one has.
type amountType struct{ Money }

func (amountType) schema(Direction) map[string]any {
	return map[string]any{"type": "string", "format": "decimal", "pattern": `^-?\d+\.\d{2}$`}
}

// settleEntry keeps the first due and accrual dates that there ever were.
func settleEntry(d, _ *Doc, _ Moment) {
	setIfNull(d, "original_due_date", d.Value("due_date"))
	setIfNull(d, "original_accrual_date", d.Value("accrual_date"))
}

func centsOf(field string) func([]byte, *View) []byte {
	return func(dst []byte, v *View) []byte { return strconv.AppendInt(dst, value.Cents(v.Body.Member(field)), 10) }
}

func centsText(field string) func([]byte, *View) []byte {
	number := centsOf(field)
	return func(dst []byte, v *View) []byte { return append(number(append(dst, '"'), v), '"') }
}

// multiplier is the sign that an entry's transaction type gives its amounts.
func multiplier(b Body) int64 {
	switch string(names.AppendFold(nil, []byte(value.Unquote(b.Member("transaction_type"))))) {
	case "expense", "despesa", "out", "saida":
		return -1
	}
	return 1
}

func amountMultiplier(dst []byte, v *View) []byte {
	return strconv.AppendInt(dst, multiplier(v.Body), 10)
}

// displayAmount is what the entry comes to.
func displayAmount(dst []byte, v *View) []byte {
	sum := -value.Cents(v.Body.Member("discount"))
	for _, field := range [...]string{"base_amount", "interest", "penalty", "admin_fee"} {
		sum += value.Cents(v.Body.Member(field))
	}
	return value.AppendAmount(dst, sum*multiplier(v.Body))
}

// entryStatus is judged on the day it is read.
func entryStatus(dst []byte, v *View) []byte {
	due := v.Body.Member("due_date")
	switch {
	case string(v.Body.Member("is_paid")) == "true":
		return append(dst, `"paid"`...)
	case !value.IsNull(due) && string(due) < string(value.Day(v.Now, v.Zone)):
		return append(dst, `"overdue"`...)
	}
	return append(dst, `"pending"`...)
}
