/* witness_file_read.c: witnesses from JSON files, without trust; see result_files.h. */
#include "io/witness_members.h"

#include "io/json.h"

#include <math.h>
#include <string.h>

typedef struct reader {
    nadir_json json;
    const nadir_model *model;
    nadir_witness witness;
    double *numbers; /* the part of witness.owned not used yet: each member is read once */
    char *names;     /* of witness.owned_names */
    uint64_t seen;   /* a bit for each member */
    int64_t unknown;
} reader;

/* A string that is one of names(1), names(2), names(3). */
static nadir_status read_word(reader *at, const char *(*name_of)(int), int *found)
{
    nadir_status status = NADIR_OK;
    char word[16];
    NADIR_CHECK(nadir_json_string(&at->json, sizeof word, word));
    for (*found = 1; *found < 4; ++*found) {
        if (strcmp(name_of(*found), word) == 0) {
            return NADIR_OK;
        }
    }
    status = nadir_json_fail(&at->json, "found \"%s\"; expected %s, %s or %s", word, name_of(1), name_of(2),
                             name_of(3));
cleanup:
    return status;
}

static const char *set_name(int set)
{
    return nadir_set_name((nadir_set)set);
}

static const char *domain_name(int domain)
{
    return nadir_domain_name((nadir_domain)domain);
}

static nadir_status read_version(reader *at)
{
    nadir_status status = NADIR_OK;
    double version;
    NADIR_CHECK(nadir_json_number(&at->json, &version));
    if (version != NADIR_WITNESS_VERSION) {
        status = nadir_json_fail(&at->json, "is %g; expected %d, the only one there is", version,
                                 NADIR_WITNESS_VERSION);
    }
cleanup:
    return status;
}

static nadir_status read_digest(reader *at, bool needed, char digest[65])
{
    nadir_status status = NADIR_OK;
    if (!needed && nadir_json_peek(&at->json) == NADIR_JSON_NULL) {
        return nadir_json_null(&at->json);
    }
    NADIR_CHECK(nadir_json_string(&at->json, 65, digest));
    if (!nadir_witness_is_digest(digest)) {
        status = nadir_json_fail(&at->json, "found \"%s\"; expected 64 hexadecimal digits", digest);
    }
cleanup:
    return status;
}

static nadir_status read_norm(reader *at, double *norm)
{
    nadir_status status = NADIR_OK;
    char word[16];
    if (nadir_json_peek(&at->json) != NADIR_JSON_STRING) {
        NADIR_CHECK(nadir_json_number(&at->json, norm));
    } else {
        NADIR_CHECK(nadir_json_string(&at->json, sizeof word, word));
        *norm = strcmp(word, "inf") == 0 ? INFINITY : NAN;
    }
    if (!(*norm >= 1)) {
        status = nadir_json_fail(&at->json, "expected a number of 1 or more, or \"inf\"");
    }
cleanup:
    return status;
}

static nadir_status read_radius(reader *at)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = at->model;
    nadir_witness *witness = &at->witness;
    int64_t count = 1;
    if (nadir_json_peek(&at->json) == NADIR_JSON_ARRAY) {
        NADIR_CHECK(nadir_json_numbers(&at->json, model->rows, at->numbers, &count));
    } else {
        NADIR_CHECK(nadir_json_number(&at->json, at->numbers));
    }
    if (count != 1 && count != model->states && count != model->rows) {
        return nadir_json_fail(&at->json,
                               "has %lld numbers; expected one, or one for each of %lld states or %lld rows",
                               (long long)count, (long long)model->states, (long long)model->rows);
    }
    const int64_t bad = nadir_witness_find_bad(count, at->numbers, false);
    if (bad < count) {
        return nadir_json_fail(&at->json, "number %lld is %g; expected 0 or more", (long long)bad,
                               at->numbers[bad]);
    }
    witness->radius = at->numbers;
    witness->radius_count = count;
    at->numbers += count;
cleanup:
    return status;
}

static nadir_status read_name(reader *at, const char **name)
{
    nadir_status status = NADIR_OK;
    if (nadir_json_peek(&at->json) == NADIR_JSON_NULL) {
        return nadir_json_null(&at->json);
    }
    NADIR_CHECK(nadir_json_string(&at->json, NADIR_WITNESS_NAME_LENGTH, at->names));
    *name = at->names;
    at->names += NADIR_WITNESS_NAME_LENGTH;
cleanup:
    return status;
}

static nadir_status read_vector(reader *at, const double **vector)
{
    nadir_status status = NADIR_OK;
    int64_t count;
    NADIR_CHECK(nadir_json_numbers(&at->json, at->model->states, at->numbers, &count));
    if (count != at->model->states) {
        return nadir_json_fail(&at->json, "has %lld numbers; expected one for each of %lld states",
                               (long long)count, (long long)at->model->states);
    }
    *vector = at->numbers;
    at->numbers += count;
cleanup:
    return status;
}

static nadir_status read_value(reader *at, const nadir_member *which)
{
    nadir_status status = NADIR_OK;
    void *place = (char *)&at->witness + which->offset;
    int found;
    switch (which->kind) {
    case NADIR_MEMBER_VERSION:
        return read_version(at);
    case NADIR_MEMBER_DIGEST:
        return read_digest(at, which->needed, place);
    case NADIR_MEMBER_SET:
        NADIR_CHECK(read_word(at, set_name, &found));
        at->witness.set = (nadir_set)found;
        break;
    case NADIR_MEMBER_DOMAIN:
        NADIR_CHECK(read_word(at, domain_name, &found));
        at->witness.domain = (nadir_domain)found;
        break;
    case NADIR_MEMBER_NORM:
        return read_norm(at, place);
    case NADIR_MEMBER_RADIUS:
        return read_radius(at);
    case NADIR_MEMBER_FLAG:
        return nadir_json_bool(&at->json, place);
    case NADIR_MEMBER_NAME:
        return read_name(at, place);
    case NADIR_MEMBER_NUMBER:
        return nadir_json_peek(&at->json) == NADIR_JSON_NULL ? nadir_json_null(&at->json)
                                                             : nadir_json_number(&at->json, place);
    case NADIR_MEMBER_VECTOR:
        return read_vector(at, place);
    }
cleanup:
    return status;
}

static nadir_status read_member(reader *at)
{
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        if (strcmp(at->json.name, which->name) == 0) {
            const uint64_t bit = UINT64_C(1) << (which - nadir_witness_members);
            if ((at->seen & bit) != 0) {
                return nadir_json_fail(&at->json, "is there twice");
            }
            at->seen |= bit;
            return read_value(at, which);
        }
    }
    at->unknown++;
    return nadir_json_skip(&at->json);
}

static nadir_status read_members(reader *at)
{
    nadir_status status = NADIR_OK;
    for (;;) {
        bool more;
        NADIR_CHECK(nadir_json_next(&at->json, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(read_member(at));
    }
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        if (which->needed && (at->seen >> (which - nadir_witness_members) & 1) == 0) {
            return nadir_fail(at->json.context, NADIR_ERROR_FORMAT, "%s: there is no member `%s`",
                              at->json.path, which->name);
        }
    }
    if (at->unknown > 0) {
        nadir_log(at->json.context, NADIR_LOG_NOTICE, "%s: %lld unknown member%s ignored", at->json.path,
                  (long long)at->unknown, at->unknown == 1 ? " was" : "s were");
    }
cleanup:
    return status;
}

static int64_t count_kind(nadir_member_kind kind)
{
    int64_t count = 0;
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        count += which->kind == kind;
    }
    return count;
}

nadir_status nadir_witness_read(nadir_context *context, const nadir_model *model, const char *path,
                                nadir_witness *witness)
{
    nadir_status status = NADIR_OK;
    reader at = {.model = model};
    const int64_t numbers = count_kind(NADIR_MEMBER_VECTOR) * model->states + model->rows;
    /* A number takes 24 characters; the rest is for blanks, and for members that are not known. */
    const int64_t limit = 65536 + 40 * numbers;
    nadir_witness_default(&at.witness);
    NADIR_CHECK(nadir_json_open(context, path, limit, &at.json));
    NADIR_NEW(context, at.witness.owned, numbers);
    NADIR_NEW(context, at.witness.owned_names, count_kind(NADIR_MEMBER_NAME) * NADIR_WITNESS_NAME_LENGTH);
    at.numbers = at.witness.owned;
    at.names = at.witness.owned_names;
    NADIR_CHECK(read_members(&at));
    *witness = at.witness;
    nadir_witness_default(&at.witness);
cleanup:
    nadir_json_close(&at.json);
    nadir_witness_clear(context, &at.witness);
    return status;
}
