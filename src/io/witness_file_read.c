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
static nadir_status read_word(reader *self, const char *(*name_of)(int), int *found)
{
    nadir_status status = NADIR_OK;
    char word[16];
    NADIR_CHECK(nadir_json_string(&self->json, sizeof word, word));
    for (*found = 1; *found < 4; ++*found) {
        if (strcmp(name_of(*found), word) == 0) {
            return NADIR_OK;
        }
    }
    status = nadir_json_fail(&self->json, "found \"%s\"; expected %s, %s or %s", word, name_of(1), name_of(2),
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

static nadir_status read_version(reader *self)
{
    nadir_status status = NADIR_OK;
    double version;
    NADIR_CHECK(nadir_json_number(&self->json, &version));
    if (version != NADIR_WITNESS_VERSION) {
        status = nadir_json_fail(&self->json, "is %g; expected %d, the only one there is", version,
                                 NADIR_WITNESS_VERSION);
    }
cleanup:
    return status;
}

static nadir_status read_digest(reader *self, bool needed, char digest[65])
{
    nadir_status status = NADIR_OK;
    if (!needed && nadir_json_peek(&self->json) == NADIR_JSON_NULL) {
        return nadir_json_null(&self->json);
    }
    NADIR_CHECK(nadir_json_string(&self->json, 65, digest));
    if (!nadir_witness_is_digest(digest)) {
        status = nadir_json_fail(&self->json, "found \"%s\"; expected 64 hexadecimal digits", digest);
    }
cleanup:
    return status;
}

static nadir_status read_norm(reader *self, double *norm)
{
    nadir_status status = NADIR_OK;
    char word[16];
    if (nadir_json_peek(&self->json) != NADIR_JSON_STRING) {
        NADIR_CHECK(nadir_json_number(&self->json, norm));
    } else {
        NADIR_CHECK(nadir_json_string(&self->json, sizeof word, word));
        *norm = strcmp(word, "inf") == 0 ? INFINITY : NAN;
    }
    if (!(*norm >= 1)) {
        status = nadir_json_fail(&self->json, "expected a number of 1 or more, or \"inf\"");
    }
cleanup:
    return status;
}

static nadir_status read_radius(reader *self)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    nadir_witness *witness = &self->witness;
    int64_t count = 1;
    if (nadir_json_peek(&self->json) == NADIR_JSON_ARRAY) {
        NADIR_CHECK(nadir_json_numbers(&self->json, model->rows, self->numbers, &count));
    } else {
        NADIR_CHECK(nadir_json_number(&self->json, self->numbers));
    }
    if (count != 1 && count != model->states && count != model->rows) {
        return nadir_json_fail(&self->json,
                               "has %lld numbers; expected one, or one for each of %lld states or %lld rows",
                               (long long)count, (long long)model->states, (long long)model->rows);
    }
    const int64_t bad = nadir_witness_find_bad(count, self->numbers, false);
    if (bad < count) {
        return nadir_json_fail(&self->json, "number %lld is %g; expected 0 or more", (long long)bad,
                               self->numbers[bad]);
    }
    witness->radius = self->numbers;
    witness->radius_count = count;
    self->numbers += count;
cleanup:
    return status;
}

static nadir_status read_name(reader *self, const char **name)
{
    nadir_status status = NADIR_OK;
    if (nadir_json_peek(&self->json) == NADIR_JSON_NULL) {
        return nadir_json_null(&self->json);
    }
    NADIR_CHECK(nadir_json_string(&self->json, NADIR_WITNESS_NAME_LENGTH, self->names));
    *name = self->names;
    self->names += NADIR_WITNESS_NAME_LENGTH;
cleanup:
    return status;
}

static nadir_status read_vector(reader *self, const double **vector)
{
    nadir_status status = NADIR_OK;
    int64_t count;
    NADIR_CHECK(nadir_json_numbers(&self->json, self->model->states, self->numbers, &count));
    if (count != self->model->states) {
        return nadir_json_fail(&self->json, "has %lld numbers; expected one for each of %lld states",
                               (long long)count, (long long)self->model->states);
    }
    *vector = self->numbers;
    self->numbers += count;
cleanup:
    return status;
}

/* The most numbers that steps have, eight rounds of the second-order proof at least. */
static int64_t most_steps(const nadir_model *model)
{
    return 64 * model->states + 4096;
}

static nadir_status read_steps(reader *self)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(
        nadir_json_numbers(&self->json, most_steps(self->model), self->numbers, &self->witness.steps_count));
    self->witness.steps = self->numbers;
    self->numbers += self->witness.steps_count;
cleanup:
    return status;
}

static nadir_status read_value(reader *self, const nadir_member *which)
{
    nadir_status status = NADIR_OK;
    void *place = (char *)&self->witness + which->offset;
    int found;
    switch (which->kind) {
    case NADIR_MEMBER_VERSION:
        return read_version(self);
    case NADIR_MEMBER_DIGEST:
        return read_digest(self, which->needed, place);
    case NADIR_MEMBER_SET:
        NADIR_CHECK(read_word(self, set_name, &found));
        self->witness.set = (nadir_set)found;
        break;
    case NADIR_MEMBER_DOMAIN:
        NADIR_CHECK(read_word(self, domain_name, &found));
        self->witness.domain = (nadir_domain)found;
        break;
    case NADIR_MEMBER_NORM:
        return read_norm(self, place);
    case NADIR_MEMBER_RADIUS:
        return read_radius(self);
    case NADIR_MEMBER_FLAG:
        return nadir_json_bool(&self->json, place);
    case NADIR_MEMBER_NAME:
        return read_name(self, place);
    case NADIR_MEMBER_NUMBER:
        return nadir_json_peek(&self->json) == NADIR_JSON_NULL ? nadir_json_null(&self->json)
                                                               : nadir_json_number(&self->json, place);
    case NADIR_MEMBER_VECTOR:
        return read_vector(self, place);
    case NADIR_MEMBER_STEPS:
        return read_steps(self);
    }
cleanup:
    return status;
}

static nadir_status read_member(reader *self)
{
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        if (strcmp(self->json.name, which->name) == 0) {
            const uint64_t bit = UINT64_C(1) << (which - nadir_witness_members);
            if ((self->seen & bit) != 0) {
                return nadir_json_fail(&self->json, "is there twice");
            }
            self->seen |= bit;
            return read_value(self, which);
        }
    }
    self->unknown++;
    return nadir_json_skip(&self->json);
}

static nadir_status read_members(reader *self)
{
    nadir_status status = NADIR_OK;
    for (;;) {
        bool more;
        NADIR_CHECK(nadir_json_next(&self->json, &more));
        if (!more) {
            break;
        }
        NADIR_CHECK(read_member(self));
    }
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        if (which->needed && (self->seen >> (which - nadir_witness_members) & 1) == 0) {
            return nadir_fail(self->json.context, NADIR_ERROR_FORMAT, "%s: there is no member `%s`",
                              self->json.path, which->name);
        }
    }
    if (self->unknown > 0) {
        nadir_log(self->json.context, NADIR_LOG_NOTICE, "%s: %lld unknown member%s ignored", self->json.path,
                  (long long)self->unknown, self->unknown == 1 ? " was" : "s were");
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
    reader self = {.model = model};
    const int64_t numbers = count_kind(NADIR_MEMBER_VECTOR) * model->states + model->rows + most_steps(model);
    /* A number takes 24 characters; the rest is for blanks, and for members that are not known. */
    const int64_t limit = 65536 + 40 * numbers;
    nadir_witness_default(&self.witness);
    NADIR_CHECK(nadir_json_open(context, path, limit, &self.json));
    NADIR_NEW(context, self.witness.owned, numbers);
    NADIR_NEW(context, self.witness.owned_names, count_kind(NADIR_MEMBER_NAME) * NADIR_WITNESS_NAME_LENGTH);
    self.numbers = self.witness.owned;
    self.names = self.witness.owned_names;
    NADIR_CHECK(read_members(&self));
    *witness = self.witness;
    nadir_witness_default(&self.witness);
cleanup:
    nadir_json_close(&self.json);
    nadir_witness_clear(context, &self.witness);
    return status;
}
