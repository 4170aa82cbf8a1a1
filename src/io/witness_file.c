/*
 * witness_file.c: witnesses in JSON files; see result_files.h. A file holds one JSON object, whose members are
 * in the table below, for writing and for reading. Numbers have as many digits as it takes to read back the same
 * bits.
 */
#include "core/file.h"
#include "io/json.h"
#include "io/result_files.h"

#include <math.h>
#include <string.h>

#define NADIR_WITNESS_VERSION 1 /* of the format */

typedef enum member_kind {
    MEMBER_VERSION,
    MEMBER_DIGEST, /* char[65]; may be "", null in files, where it is not needed */
    MEMBER_SET,
    MEMBER_DOMAIN,
    MEMBER_NORM,   /* double, 1 or more; "inf" */
    MEMBER_RADIUS, /* a number, or an array of them */
    MEMBER_FLAG,   /* bool */
    MEMBER_NAME,   /* const char *, may be NULL */
    MEMBER_NUMBER, /* double, may be NaN */
    MEMBER_VECTOR, /* const double *, [states]; left out where it is NULL */
    MEMBER_STEPS   /* the same, [steps_count] */
} member_kind;

typedef struct member {
    const char *name;
    member_kind kind;
    bool needed;
    size_t offset; /* in nadir_witness */
} member;

/* ---- Writing ----------------------------------------------------------------------------------------- */

#define MEMBER(field, kind, needed) #field, MEMBER_##kind, needed, offsetof(nadir_witness, field)

/* In the order of the file; name NULL ends the list. At most 64. */
static const member members[] = {
    {"version", MEMBER_VERSION, true, 0},
    {MEMBER(model_sha256, DIGEST, true)},
    {MEMBER(policy_sha256, DIGEST, true)},
    {MEMBER(model_file_sha256, DIGEST, false)},
    {MEMBER(policy_file_sha256, DIGEST, false)},
    {MEMBER(kernel_sha256, DIGEST, false)},
    {MEMBER(set, SET, true)},
    {MEMBER(domain, DOMAIN, true)},
    {MEMBER(norm, NORM, true)},
    {MEMBER(radius, RADIUS, true)},
    {MEMBER(optimistic, FLAG, true)},
    {MEMBER(nominal_return, NUMBER, false)},
    {MEMBER(robust_return, NUMBER, false)},
    {MEMBER(lower_bound, NUMBER, false)},
    {MEMBER(upper_bound, NUMBER, false)},
    {MEMBER(certificate, NAME, false)},
    {MEMBER(bound, NAME, false)},
    {MEMBER(lambda, NUMBER, false)},
    {MEMBER(breakdown_low, NUMBER, false)},
    {MEMBER(breakdown_proof, NAME, false)},
    {MEMBER(kappa, NUMBER, false)},
    {MEMBER(tau, NUMBER, false)},
    {MEMBER(c, VECTOR, false)},
    {MEMBER(k, VECTOR, false)},
    {MEMBER(c2, VECTOR, false)},
    {MEMBER(k2, VECTOR, false)},
    {MEMBER(v, VECTOR, false)},
    {MEMBER(d_bar, VECTOR, false)},
    {MEMBER(steps, STEPS, false)},
    {MEMBER(sha256, DIGEST, false)},
    {NULL, MEMBER_VERSION, false, 0},
};
_Static_assert(sizeof members / sizeof *members <= 64, "a bit for each");

const nadir_file_digest_form nadir_witness_digest_form = {.before = ",\n  \"sha256\": \"",
                                                          .after = "\"\n}\n"};

static bool is_digest(const char *text)
{
    return strnlen(text, 65) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int64_t find_bad(int64_t count, const double *numbers, bool negative)
{
    int64_t i = 0;
    while (i < count && isfinite(numbers[i]) && (negative || numbers[i] >= 0)) {
        i++;
    }
    return i;
}

static const void *value_of(const nadir_witness *witness, const member *which)
{
    return (const char *)witness + which->offset;
}

/* A short name that needs no escapes in a string. */
static bool is_plain(const char *name)
{
    size_t length = 0;
    while (name[length] >= ' ' && name[length] <= '~' && name[length] != '"' && name[length] != '\\') {
        length++;
    }
    return length < NADIR_WITNESS_NAME_LENGTH && name[length] == '\0';
}

static bool is_vector(const member *which)
{
    return which->kind == MEMBER_VECTOR || which->kind == MEMBER_STEPS;
}

/* How many numbers a member has. */
static int64_t count_of(const nadir_model *model, const nadir_witness *witness, const member *which)
{
    return which->kind == MEMBER_RADIUS  ? witness->radius_count
           : which->kind == MEMBER_STEPS ? witness->steps_count
                                         : model->states;
}

/* The names of a set, 1 to 3, or of a domain, 1 to 4. */
static const char *name_of(member_kind kind, int value)
{
    return kind == MEMBER_SET ? nadir_set_name((nadir_set)value) : nadir_domain_name((nadir_domain)value);
}

static nadir_status check_member(nadir_context *context, const nadir_model *model,
                                 const nadir_witness *witness, const member *which)
{
    const void *value = value_of(witness, which);
    const char *const *name = value;
    const double *const *numbers = value;
    const bool is_radius = which->kind == MEMBER_RADIUS;
    if (is_radius || (is_vector(which) && *numbers != NULL)) {
        const int64_t count = count_of(model, witness, which);
        const int64_t bad = find_bad(count, *numbers, !is_radius);
        if (bad < count) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "witness: entry %lld of %s is %g",
                              (long long)bad, which->name, (*numbers)[bad]);
        }
    }
    const bool unsaid = !which->needed && *(const char *)value == '\0';
    if ((which->kind == MEMBER_DIGEST && !unsaid && !is_digest(value)) ||
        (which->kind == MEMBER_NAME && *name != NULL && !is_plain(*name))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "witness: %s is \"%.80s\"", which->name,
                          which->kind == MEMBER_NAME ? *name : (const char *)value);
    }
    return NADIR_OK;
}

/* Whether what is written can be read back. */
static nadir_status check(nadir_context *context, const nadir_model *model, const nadir_witness *witness)
{
    const int64_t count = witness->radius_count;
    if (witness->set == NADIR_SET_UNSAID || witness->domain == NADIR_DOMAIN_UNSAID ||
        (!(witness->norm >= 1) && witness->norm != NADIR_NORM_CHI2) || witness->radius == NULL ||
        (count != 1 && count != model->states && count != model->rows)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "witness: set, domain, norm (which is %g) and radius (of %lld numbers) are needed",
                          witness->norm, (long long)count);
    }
    for (const member *which = members; which->name != NULL; which++) {
        NADIR_TRY(check_member(context, model, witness, which));
    }
    return NADIR_OK;
}

static void write_text(nadir_output *output, const char *text)
{
    nadir_output_text(output, text != NULL ? "\"" : "null");
    nadir_output_text(output, text != NULL ? text : "");
    nadir_output_text(output, text != NULL ? "\"" : "");
}

/* otherwise: what stands for a number that is not finite. */
static void write_number(nadir_output *output, double number, const char *otherwise)
{
    if (isfinite(number)) {
        nadir_output_double(output, number);
    } else {
        nadir_output_text(output, otherwise);
    }
}

/* One number alone stands without brackets, unless they are asked for. */
static void write_numbers(nadir_output *output, int64_t count, bool brackets, const double *numbers)
{
    brackets = brackets || count != 1;
    nadir_output_text(output, brackets ? "[" : "");
    for (int64_t i = 0; i < count; i++) {
        nadir_output_text(output, i == 0 ? "" : ",");
        nadir_output_double(output, numbers[i]);
    }
    nadir_output_text(output, brackets ? "]" : "");
}

static void write_value(nadir_output *output, const nadir_model *model, const nadir_witness *witness,
                        const member *which)
{
    const void *value = value_of(witness, which);
    switch (which->kind) {
    case MEMBER_VERSION:
        nadir_output_integer(output, NADIR_WITNESS_VERSION);
        break;
    case MEMBER_DIGEST:
        write_text(output, *(const char *)value != '\0' ? value : NULL);
        break;
    case MEMBER_SET:
    case MEMBER_DOMAIN:
        write_text(output, name_of(which->kind,
                                   which->kind == MEMBER_SET ? (int)witness->set : (int)witness->domain));
        break;
    case MEMBER_NORM:
        if (witness->norm == NADIR_NORM_CHI2) {
            write_text(output, "chi2");
        } else {
            write_number(output, witness->norm, "\"inf\"");
        }
        break;
    case MEMBER_FLAG:
        nadir_output_text(output, *(const bool *)value ? "true" : "false");
        break;
    case MEMBER_NAME:
        write_text(output, *(const char *const *)value);
        break;
    case MEMBER_NUMBER:
        write_number(output, *(const double *)value, "null");
        break;
    case MEMBER_RADIUS:
    case MEMBER_VECTOR:
    case MEMBER_STEPS:
        write_numbers(output, count_of(model, witness, which), which->kind != MEMBER_RADIUS,
                      *(const double *const *)value);
        break;
    }
}

nadir_status nadir_witness_write(nadir_context *context, const nadir_model *model,
                                 const nadir_witness *witness, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    nadir_witness blank = *witness;
    memcpy(blank.sha256, NADIR_FILE_DIGEST_BLANK, sizeof blank.sha256);
    NADIR_CHECK(check(context, model, witness));
    NADIR_CHECK(nadir_output_open(context, path, &output));
    for (const member *which = members; which->name != NULL; which++) {
        if (is_vector(which) && *(const double *const *)value_of(witness, which) == NULL) {
            continue;
        }
        nadir_output_text(&output, which == members ? "{\n  \"" : ",\n  \"");
        nadir_output_text(&output, which->name);
        nadir_output_text(&output, "\": ");
        write_value(&output, model, &blank, which);
    }
    nadir_output_text(&output, "\n}\n");
    nadir_output_flush(&output);
    if (!output.failed) { /* if it did, the commit says why */
        NADIR_CHECK(nadir_file_digest_store(context, output.temporary, &nadir_witness_digest_form));
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

/* ---- Reading, without trust -------------------------------------------------------------------------- */

typedef struct reader {
    nadir_json json;
    const nadir_model *model;
    nadir_witness witness;
    double *numbers; /* the part of witness.owned not used yet: each member is read once */
    char *names;     /* of witness.owned_names */
    uint64_t seen;   /* a bit for each member */
    int64_t unknown;
} reader;

/* A string that is the name of a set or a domain. */
static nadir_status read_word(reader *self, member_kind kind, int *found)
{
    nadir_status status = NADIR_OK;
    char word[16];
    NADIR_CHECK(nadir_json_string(&self->json, sizeof word, word));
    for (*found = 1; *found < 5; ++*found) {
        if (word[0] != '\0' && strcmp(name_of(kind, *found), word) == 0) {
            return NADIR_OK;
        }
    }
    const bool set = kind == MEMBER_SET;
    status = nadir_json_fail(&self->json, "found \"%s\"; expected %s, %s%s%s or %s", word, name_of(kind, 1),
                             name_of(kind, 2), set ? "" : ", ", set ? "" : name_of(kind, 3),
                             name_of(kind, set ? 3 : 4));
cleanup:
    return status;
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
    if (!is_digest(digest)) {
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
        *norm = strcmp(word, "inf") == 0 ? INFINITY : strcmp(word, "chi2") == 0 ? NADIR_NORM_CHI2 : NAN;
    }
    if (!(*norm >= 1) && *norm != NADIR_NORM_CHI2) {
        status = nadir_json_fail(&self->json, "expected a number of 1 or more, \"inf\" or \"chi2\"");
    }
cleanup:
    return status;
}

static nadir_status read_name(reader *self, const char **name)
{
    if (nadir_json_peek(&self->json) == NADIR_JSON_NULL) {
        return nadir_json_null(&self->json);
    }
    NADIR_TRY(nadir_json_string(&self->json, NADIR_WITNESS_NAME_LENGTH, self->names));
    *name = self->names;
    self->names += NADIR_WITNESS_NAME_LENGTH;
    return NADIR_OK;
}

/* Radii, a vector or steps: an array of numbers or, of a radius, one. */
static nadir_status read_numbers(reader *self, const member *which, const double **numbers)
{
    const nadir_model *model = self->model;
    const bool is_radius = which->kind == MEMBER_RADIUS;
    const int64_t most = is_radius                     ? model->rows
                         : which->kind == MEMBER_STEPS ? NADIR_STEPS_MOST
                                                       : model->states;
    int64_t count = 1;
    if (is_radius && nadir_json_peek(&self->json) != NADIR_JSON_ARRAY) {
        NADIR_TRY(nadir_json_number(&self->json, self->numbers));
    } else {
        NADIR_TRY(nadir_json_numbers(&self->json, most, self->numbers, &count));
    }
    if (is_radius && count != 1 && count != model->states && count != model->rows) {
        return nadir_json_fail(&self->json,
                               "has %lld numbers; expected one, or one for each of %lld states or %lld rows",
                               (long long)count, (long long)model->states, (long long)model->rows);
    }
    if (which->kind == MEMBER_VECTOR && count != model->states) {
        return nadir_json_fail(&self->json, "has %lld numbers; expected one for each of %lld states",
                               (long long)count, (long long)model->states);
    }
    const int64_t bad = find_bad(count, self->numbers, !is_radius);
    if (bad < count) {
        return nadir_json_fail(&self->json, "number %lld is %g; expected 0 or more", (long long)bad,
                               self->numbers[bad]);
    }
    self->witness.radius_count = is_radius ? count : self->witness.radius_count;
    self->witness.steps_count = which->kind == MEMBER_STEPS ? count : self->witness.steps_count;
    *numbers = self->numbers;
    self->numbers += count;
    return NADIR_OK;
}

static nadir_status read_value(reader *self, const member *which)
{
    void *place = (char *)&self->witness + which->offset;
    int found;
    switch (which->kind) {
    case MEMBER_VERSION:
        return read_version(self);
    case MEMBER_DIGEST:
        return read_digest(self, which->needed, place);
    case MEMBER_SET:
        NADIR_TRY(read_word(self, MEMBER_SET, &found));
        self->witness.set = (nadir_set)found;
        break;
    case MEMBER_DOMAIN:
        NADIR_TRY(read_word(self, MEMBER_DOMAIN, &found));
        self->witness.domain = (nadir_domain)found;
        break;
    case MEMBER_NORM:
        return read_norm(self, place);
    case MEMBER_FLAG:
        return nadir_json_bool(&self->json, place);
    case MEMBER_NAME:
        return read_name(self, place);
    case MEMBER_NUMBER:
        return nadir_json_peek(&self->json) == NADIR_JSON_NULL ? nadir_json_null(&self->json)
                                                               : nadir_json_number(&self->json, place);
    case MEMBER_RADIUS:
    case MEMBER_VECTOR:
    case MEMBER_STEPS:
        return read_numbers(self, which, place);
    }
    return NADIR_OK;
}

static nadir_status read_member(reader *self)
{
    for (const member *which = members; which->name != NULL; which++) {
        if (strcmp(self->json.name, which->name) == 0) {
            const uint64_t bit = UINT64_C(1) << (which - members);
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
    bool more;
    NADIR_TRY(nadir_json_next(&self->json, &more));
    while (more) {
        NADIR_TRY(read_member(self));
        NADIR_TRY(nadir_json_next(&self->json, &more));
    }
    for (const member *which = members; which->name != NULL; which++) {
        if (which->needed && (self->seen >> (which - members) & 1) == 0) {
            return nadir_fail(self->json.context, NADIR_ERROR_FORMAT, "%s: there is no member `%s`",
                              self->json.path, which->name);
        }
    }
    if (self->unknown > 0) {
        nadir_log(self->json.context, NADIR_LOG_NOTICE, "%s: %lld unknown member%s ignored", self->json.path,
                  (long long)self->unknown, self->unknown == 1 ? " was" : "s were");
    }
    return NADIR_OK;
}

static int64_t count_kind(member_kind kind)
{
    int64_t count = 0;
    for (const member *which = members; which->name != NULL; which++) {
        count += which->kind == kind;
    }
    return count;
}

nadir_status nadir_witness_read(nadir_context *context, const nadir_model *model, const char *path,
                                nadir_witness *witness)
{
    nadir_status status = NADIR_OK;
    reader self = {.model = model};
    const int64_t numbers = count_kind(MEMBER_VECTOR) * model->states + model->rows + NADIR_STEPS_MOST;
    /* A number takes 24 characters; the rest is for blanks, and for members that are not known. */
    const int64_t limit = 65536 + 40 * numbers;
    nadir_witness_default(&self.witness);
    NADIR_CHECK(nadir_json_open(context, path, limit, &self.json));
    /* and two characters at least, in a file of any size */
    const int64_t written = (self.json.end - self.json.text) / 2 + 1;
    NADIR_NEW(context, self.witness.owned, written < numbers ? written : numbers);
    NADIR_NEW(context, self.witness.owned_names, count_kind(MEMBER_NAME) * NADIR_WITNESS_NAME_LENGTH);
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
