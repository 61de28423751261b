"""Uses the client that was generated from the OpenAPI document against a running server.

It takes URL, KEY and SECRET from the environment, and finds the document and the generated package doorward_client in the
folder FOLDER. The first assertion that fails ends it.
"""

import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import sys
from datetime import UTC, datetime, timedelta

FOLDER = os.environ["FOLDER"]
sys.path.insert(0, FOLDER)

import doorward_client.api  # noqa: E402
from doorward_client import Client, models  # noqa: E402
from doorward_client.types import File  # noqa: E402


def functions():
    """The modules of the generated functions, by operation id."""
    walked = pkgutil.walk_packages(doorward_client.api.__path__, doorward_client.api.__name__ + ".")
    return {m.name.rpartition(".")[2]: importlib.import_module(m.name) for m in walked if not m.ispkg}


API = functions()


def connect(key=os.environ["KEY"], secret=os.environ["SECRET"]):
    """A client with a key of its own."""
    return Client(base_url=os.environ["URL"], httpx_args={"auth": (key, secret)})


def call(operation, *args, client, **parameters):
    return API[operation].sync_detailed(*args, client=client, **parameters)


def done(status, operation, *args, **parameters):
    """Calls an operation that succeeds, and answers what it answered."""
    answer = call(operation, *args, **parameters)
    assert answer.status_code == status, (operation, answer.status_code, answer.content)
    return answer.parsed


def refused(status, code, operation, *args, **parameters):
    """Calls an operation that is refused, and answers the details."""
    answer = call(operation, *args, **parameters)
    assert answer.status_code == status, (operation, answer.status_code, answer.content)
    error = answer.parsed.error
    assert error.code == code and error.message, (operation, answer.content)
    return error.details.to_dict() if error.details else {}


def every_operation_has_a_function():
    with open(os.path.join(FOLDER, "openapi.json")) as file:
        paths = json.load(file)["paths"]
    known = 0
    for path, item in paths.items():
        for method, operation in item.items():
            source = inspect.getsource(API[operation["operationId"]])
            assert f'"method": "{method}"' in source and f'"url": "{path}"' in source, (method, path)
            known += 1
    assert known == len(API) > 100, (known, len(API))


def same(value):
    """A value in which two spellings of a moment are the same."""
    if isinstance(value, dict):
        return {name: same(member) for name, member in value.items()}
    if isinstance(value, list):
        return [same(element) for element in value]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return datetime.fromisoformat(value)
    return value


def every_list_is_read(client):
    read = 0
    for operation, module in API.items():
        needed = [p for p in inspect.signature(module._get_kwargs).parameters.values() if p.default is p.empty]
        if needed or not re.match(r"(admin_)?list_", operation):
            continue
        answer = call(operation, client=client)
        assert answer.status_code == 200, (operation, answer.content)
        assert same(answer.parsed.to_dict()) == same(json.loads(answer.content)), operation
        read += 1
    assert read > 25, read


def people(client):
    church = done(201, "admin_create_church", client=client, body=models.AdminChurchCreate(name="Centro"))
    body = models.PersonCreate(full_name="Ana Souza", email="ana@example.org", church_id=church.id)
    ana = done(201, "create_person", client=client, body=body)
    assert ana.full_name == "Ana Souza" and ana.church.name == "Centro" and ana.phone is None
    page = done(200, "list_people", client=client, church_id=[church.id], search="souza", limit=5)
    assert page.count == 1 and page.results[0].id == ana.id and page.next_ is None
    changed = done(200, "update_person", ana.id, client=client, body=models.PersonChange(phone="+55 81 98888-1234", email=None))
    assert changed.phone == "+55 81 98888-1234" and changed.email is None and changed.full_name == "Ana Souza"
    assert done(200, "retrieve_person", ana.id, client=client).to_dict() == changed.to_dict()
    answer = call("retrieve_person", ana.id, client=client)
    assert call("retrieve_person", ana.id, client=client, if_none_match=answer.headers["ETag"]).status_code == 304

    revisions = json.loads(call("admin_list_revisions_of_person", ana.id, client=client, bodies=True).content)
    assert len(revisions) == 2 and revisions[0]["fields"]
    group = done(201, "admin_create_group", client=client, body=models.AdminGroupCreate(name="Choir", church_id=church.id))
    member = done(201, "create_membership", str(group.id), client=client, body=models.MembershipCreate(person=ana.id))
    assert member.person == ana.id and member.is_approved
    return church, ana, group


def entries(client, church):
    account = done(201, "admin_create_financial_account", client=client, body=models.AdminFinancialAccountCreate(name="Bank"))
    supplier = done(201, "admin_create_supplier", client=client, body=models.AdminSupplierCreate(name="Telhas"))
    body = models.FinancialEntryCreate(
        transaction_type="expense", base_amount="12.50", church_id=church.id, financial_account_id=account.id, supplier_id=supplier.id
    )
    entry = done(201, "create_financial_entry", client=client, body=body)
    assert entry.display_amount == "-12.50" and entry.base_amount_cents == "1250" and entry.attachments == []
    paid = done(200, "update_financial_entry", entry.id, client=client, body=models.FinancialEntryChange(is_paid=True))
    assert paid.is_paid and paid.status == "paid"
    assert done(200, "list_financial_entries", client=client, limit=1).count >= 1
    done(204, "delete_financial_entry", entry.id, client=client)
    refused(404, "NOT_FOUND", "retrieve_financial_entry", entry.id, client=client)


def event(client, **more):
    now = datetime.now(UTC).isoformat()
    return done(201, "admin_create_event", client=client, body=models.AdminEventCreate(name="Conference", start_datetime=now, **more))


def check_in(client, event_id, code, **headers):
    return call("check_in_ticket", event_id, client=client, body=models.CheckinFormCreate(code=code), **headers)


def not_admitted(status, code, outcome, client, event_id, ticket, **headers):
    body = models.CheckinFormCreate(code=ticket)
    details = refused(status, code, "check_in_ticket", event_id, client=client, body=body, **headers)
    assert details["outcome"] == outcome, details
    return details


def tickets(client):
    here, other, closed = event(client), event(client), event(client, active=False)
    in_one_hour = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    one_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()

    def ticket(code, of=here, **more):
        body = models.AdminTicketCreate(event_id=of.id, code=code, **more)
        return done(201, "admin_create_ticket", client=client, body=body)

    ana = ticket("ANA", holder_name="Ana Souza", type_="Adult")
    assert ana.label == "Ana S." and ana.state == "valid"

    first = check_in(client, here.id, "ANA", x_door="North", idempotency_key="phone-1")
    assert first.status_code == 204 and first.parsed is None and first.content == b"", first
    again = check_in(client, here.id, "ANA", x_door="North", idempotency_key="phone-1")
    assert again.status_code == 204 and again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["X-Checkin-Id"] == first.headers["X-Checkin-Id"]

    details = not_admitted(409, "CONFLICT", "already_admitted", client, here.id, "ANA", x_door="South")
    assert details["checkin_id"] == first.headers["X-Checkin-Id"] and details["admitted_at"] == first.headers["X-Checkin-At"]
    assert details["door"] == "North" and details["same_door"] is False and details["seconds_ago"] >= 0
    assert details["holder"] == "Ana Souza"

    for state in ["cancelled", "refunded", "unpaid", "blocked"]:
        ticket(state, state=models.AdminTicketCreateState(state))
        not_admitted(422, "UNPROCESSABLE_ENTITY", state, client, here.id, state)
    ticket("EARLY", valid_from=in_one_hour)
    not_admitted(422, "UNPROCESSABLE_ENTITY", "not_yet_valid", client, here.id, "EARLY")
    ticket("LATE", valid_until=one_hour_ago)
    not_admitted(422, "UNPROCESSABLE_ENTITY", "no_longer_valid", client, here.id, "LATE")
    ticket("CLOSED", of=closed)
    not_admitted(422, "UNPROCESSABLE_ENTITY", "event_closed", client, closed.id, "CLOSED")
    ticket("OTHER", of=other)
    not_admitted(404, "NOT_FOUND", "wrong_event", client, here.id, "OTHER")
    not_admitted(404, "NOT_FOUND", "unknown_code", client, here.id, "NOBODY")

    for code, text in {"": "This field may not be blank.", "x" * 256: "Ensure this field has no more than 255 characters."}.items():
        body = models.CheckinFormCreate(code=code)
        assert refused(400, "VALIDATION_ERROR", "check_in_ticket", here.id, client=client, body=body) == {"code": [text]}
    body = models.CheckinFormCreate(code="EARLY")
    refused(422, "UNPROCESSABLE_ENTITY", "check_in_ticket", here.id, client=client, body=body, idempotency_key="phone-1")
    at_the_door(client, here, first.headers["X-Checkin-Id"])


def at_the_door(client, here, checkin_id):
    scan = models.ScanFormCreate(code="ANA", door="South")
    ruling = done(200, "scan_ticket", here.id, client=client, body=scan)
    assert ruling.outcome == models.RulingOutcome.ALREADY_ADMITTED and ruling.checkin_id == checkin_id
    found = done(200, "search_tickets", here.id, client=client, q="souza").results
    assert [one.label for one in found] == ["Ana S."] and found[0].checkin_id == checkin_id
    status = done(200, "retrieve_door_status", here.id, client=client)
    assert status.admitted == 1 and status.doors.to_dict() == {"North": 1}
    undone = done(200, "undo_checkin", here.id, client=client, body=models.UndoFormCreate(checkin_id=checkin_id))
    assert undone.outcome == models.RulingOutcome.UNDONE
    assert done(200, "scan_ticket", here.id, client=client, body=scan).outcome == models.RulingOutcome.ADMITTED

    scans = [models.ScansFormCreateScansItem(code=code, at=datetime.now(UTC).isoformat()) for code in ["ANA", ""]]
    results = done(200, "scan_tickets", here.id, client=client, body=models.ScansFormCreate(scans=scans)).results
    assert results[0].outcome == "already_admitted" and results[1].error.code == "VALIDATION_ERROR", results


def key_of(client, level, *permissions, **more):
    body = models.KeyFormCreate(name="Test", level=level, permissions=list(permissions), **more)
    made = done(201, "create_key", client=client, body=body)
    return connect(made.key, made.secret)


def events(client, church):
    """A client can ask for what belongs to no church."""
    own = event(client, church_id=church.id)
    none = models.ListEventsChurchIdItemType1.NULL
    found = done(200, "list_events", client=client, church_id=[church.id])
    assert [one.id for one in found.results] == [own.id], found
    without = done(200, "list_events", client=client, church_id=[none], limit=100)
    assert without.count >= 3 and own.id not in [one.id for one in without.results]
    both = done(200, "list_events", client=client, church_id=[church.id, none])
    assert both.count == without.count + 1


def codes(client, church, ana, group):
    """Every code of errors that a client can bring about, each by a call that it may really make."""
    person = models.PersonCreate(full_name="Bia")
    details = refused(400, "VALIDATION_ERROR", "create_person", client=client, body=models.PersonCreate(email="no", church_id=10**9))
    assert details["email"] == ["Enter a valid email address."] and set(details) == {"email", "church_id"}
    refused(401, "UNAUTHORIZED", "list_people", client=connect(secret="wrong"))

    details = refused(403, "FORBIDDEN", "create_person", client=key_of(client, "denomination", "people:GET"), body=person)
    assert details == {"required_scope": "people:POST", "current_scopes": ["people:GET"]}
    refused(404, "NOT_FOUND", "retrieve_person", 10**9, client=client)
    refused(409, "CONFLICT", "create_membership", str(group.id), client=client, body=models.MembershipCreate(person=ana.id))
    assert refused(409, "CONFLICT", "admin_delete_church", church.id, client=client)["person"] == 1

    tag = call("retrieve_person", ana.id, client=client).headers["ETag"]
    done(200, "update_person", ana.id, client=client, body=models.PersonChange(occupation="Nurse"), if_match=tag)
    refused(412, "PRECONDITION_FAILED", "update_person", ana.id, client=client, body=models.PersonChange(occupation="Doctor"), if_match=tag)
    large = models.PersonCreate(full_name="Bia", joining_reason="x" * (1 << 20))
    refused(413, "PAYLOAD_TOO_LARGE", "create_person", client=client, body=large)
    refused(421, "MISDIRECTED_REQUEST", "list_people", client=connect().with_headers({"Host": "elsewhere.example"}))

    done(201, "create_person", client=client, body=person, idempotency_key="once")
    other = models.PersonCreate(full_name="Cai")
    refused(422, "UNPROCESSABLE_ENTITY", "create_person", client=client, body=other, idempotency_key="once")
    slow = key_of(client, "denomination", "people:GET", rate_limit=1)
    done(200, "list_people", client=slow)
    answer = call("list_people", client=slow)
    assert answer.status_code == 429 and answer.parsed.error.code == "RATE_LIMITED" and int(answer.headers["Retry-After"]) > 0
    refused(431, "HEADERS_TOO_LARGE", "list_people", client=connect().with_headers({"X-Request-Id": "x" * 20000}))
    raw_codes(client)


def raw_codes(client):
    """What no generated function sends is answered in the same envelope."""
    raw = client.get_httpx_client()
    for status, code, request in [
        (400, "INVALID_REQUEST", {"method": "POST", "url": "/v1/people/", "json": []}),
        (405, "METHOD_NOT_ALLOWED", {"method": "PUT", "url": "/v1/people/", "json": {}}),
        (415, "UNSUPPORTED_MEDIA_TYPE", {"method": "POST", "url": "/v1/people/", "content": "x", "headers": {"Content-Type": "text/plain"}}),
    ]:
        answer = raw.request(**request)
        assert answer.status_code == status, (request, answer.content)
        assert models.Error.from_dict(answer.json()).error.code == code, (request, answer.content)


def files(client):
    here = event(client)
    body = File(payload=io.BytesIO(b"Code,Holder,Notes,Colour\nK7QP2M9D4RSX1ABC,Ana Souza,,\n,Bia,,\n"))
    report = done(200, "import_records", client=client, kind="ticket", event=here.id, body=body, ignore=["Notes", "Colour"])
    assert report.created == 1 and [row.line for row in report.rejected] == [3], report
    assert check_in(client, here.id, "K7QP2M9D4RSX1ABC").status_code == 204


def pages(client):
    assert done(200, "check_liveness", client=client).status == "ok"
    assert done(200, "check_readiness", client=client).status == "ready"
    assert "doorward_" in done(200, "retrieve_metrics", client=client)
    assert "<html" in done(200, "retrieve_docs", client=client)
    assert done(200, "retrieve_openapi", client=client).to_dict()["openapi"] == "3.1.0"


def main():
    client = connect()
    every_operation_has_a_function()
    pages(client)
    church, ana, group = people(client)
    entries(client, church)
    tickets(client)
    events(client, church)
    codes(client, church, ana, group)
    files(client)
    every_list_is_read(client)


main()
