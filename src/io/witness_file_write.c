/*
 * witness_file_write.c: witnesses to JSON files; see result_files.h. A file holds one JSON object, whose
 * members are in the table below; the same table reads (witness_file_read.c). Numbers have as many digits
 * as it takes to read back the same bits.
 */
#include "io/witness_members.h"

#include "core/file.h"

#include <math.h>
#include <string.h>

#define MEMBER(field, kind, needed) #field, NADIR_MEMBER_##kind, needed, offsetof(nadir_witness, field)

const nadir_member nadir_witness_members[] = {
    {"version", NADIR_MEMBER_VERSION, true, 0},
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
    {NULL, NADIR_MEMBER_VERSION, false, 0},
};
_Static_assert(sizeof nadir_witness_members / sizeof *nadir_witness_members <= 64, "a bit for each");

const nadir_file_digest_form nadir_witness_digest_form = {.before = ",\n  \"sha256\": \"",
                                                          .after = "\"\n}\n"};

bool nadir_witness_is_digest(const char *text)
{
    return strnlen(text, 65) == 64 && strspn(text, "0123456789abcdef") == 64;
}

int64_t nadir_witness_find_bad(int64_t count, const double *numbers, bool negative)
{
    int64_t i = 0;
    while (i < count && isfinite(numbers[i]) && (negative || numbers[i] >= 0)) {
        i++;
    }
    return i;
}

static const void *value_of(const nadir_witness *witness, const nadir_member *which)
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

static bool is_vector(const nadir_member *which)
{
    return which->kind == NADIR_MEMBER_VECTOR || which->kind == NADIR_MEMBER_STEPS;
}

static nadir_status check_member(nadir_context *context, const nadir_model *model,
                                 const nadir_witness *witness, const nadir_member *which)
{
    const void *value = value_of(witness, which);
    const char *const *name = value;
    const double *const *numbers = value;
    const bool is_radius = which->kind == NADIR_MEMBER_RADIUS;
    if (is_radius || (is_vector(which) && *numbers != NULL)) {
        const int64_t count = is_radius                           ? witness->radius_count
                              : which->kind == NADIR_MEMBER_STEPS ? witness->steps_count
                                                                  : model->states;
        const int64_t bad = nadir_witness_find_bad(count, *numbers, !is_radius);
        if (bad < count) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT, "witness: entry %lld of %s is %g",
                              (long long)bad, which->name, (*numbers)[bad]);
        }
    }
    const bool unsaid = !which->needed && *(const char *)value == '\0';
    if ((which->kind == NADIR_MEMBER_DIGEST && !unsaid && !nadir_witness_is_digest(value)) ||
        (which->kind == NADIR_MEMBER_NAME && *name != NULL && !is_plain(*name))) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "witness: %s is \"%.80s\"", which->name,
                          which->kind == NADIR_MEMBER_NAME ? *name : (const char *)value);
    }
    return NADIR_OK;
}

/* Whether what is written can be read back. */
static nadir_status check(nadir_context *context, const nadir_model *model, const nadir_witness *witness)
{
    nadir_status status = NADIR_OK;
    const int64_t count = witness->radius_count;
    if (witness->set == NADIR_SET_UNSAID || witness->domain == NADIR_DOMAIN_UNSAID || !(witness->norm >= 1) ||
        witness->radius == NULL || (count != 1 && count != model->states && count != model->rows)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "witness: set, domain, norm (which is %g) and radius (of %lld numbers) are needed",
                          witness->norm, (long long)count);
    }
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        NADIR_CHECK(check_member(context, model, witness, which));
    }
cleanup:
    return status;
}

static void write_text(nadir_output *output, const char *text)
{
    nadir_output_text(output, text != NULL ? "\"" : "null");
    if (text != NULL) {
        nadir_output_text(output, text);
        nadir_output_text(output, "\"");
    }
}

static void write_number(nadir_output *output, double number)
{
    if (isfinite(number)) {
        nadir_output_double(output, number);
    } else {
        nadir_output_text(output, "null");
    }
}

static void write_numbers(nadir_output *output, int64_t count, const double *numbers)
{
    for (int64_t i = 0; i < count; i++) {
        nadir_output_text(output, i == 0 ? "[" : ",");
        nadir_output_double(output, numbers[i]);
    }
    nadir_output_text(output, "]");
}

static void write_value(nadir_output *output, const nadir_model *model, const nadir_witness *witness,
                        const nadir_member *which)
{
    const void *value = value_of(witness, which);
    switch (which->kind) {
    case NADIR_MEMBER_VERSION:
        nadir_output_integer(output, NADIR_WITNESS_VERSION);
        break;
    case NADIR_MEMBER_DIGEST:
        write_text(output, *(const char *)value != '\0' ? value : NULL);
        break;
    case NADIR_MEMBER_SET:
        write_text(output, nadir_set_name(witness->set));
        break;
    case NADIR_MEMBER_DOMAIN:
        write_text(output, nadir_domain_name(witness->domain));
        break;
    case NADIR_MEMBER_NORM:
        if (isinf(witness->norm)) {
            write_text(output, "inf");
        } else {
            nadir_output_double(output, witness->norm);
        }
        break;
    case NADIR_MEMBER_RADIUS:
        if (witness->radius_count == 1) {
            nadir_output_double(output, witness->radius[0]);
        } else {
            write_numbers(output, witness->radius_count, witness->radius);
        }
        break;
    case NADIR_MEMBER_FLAG:
        nadir_output_text(output, *(const bool *)value ? "true" : "false");
        break;
    case NADIR_MEMBER_NAME:
        write_text(output, *(const char *const *)value);
        break;
    case NADIR_MEMBER_NUMBER:
        write_number(output, *(const double *)value);
        break;
    case NADIR_MEMBER_VECTOR:
        write_numbers(output, model->states, *(const double *const *)value);
        break;
    case NADIR_MEMBER_STEPS:
        write_numbers(output, witness->steps_count, witness->steps);
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
    for (const nadir_member *which = nadir_witness_members; which->name != NULL; which++) {
        if (is_vector(which) && *(const double *const *)value_of(witness, which) == NULL) {
            continue;
        }
        nadir_output_text(&output, which == nadir_witness_members ? "{\n  \"" : ",\n  \"");
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
