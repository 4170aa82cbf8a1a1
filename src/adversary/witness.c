/*
 * witness.c: the numbers that prove the bounds of an evaluation; see witness.h.
 *
 * A file holds one JSON object, whose members are in the table below; the same table writes
 * (witness_write.c) and reads (witness_read.c).
 */
#include "adversary/witness_parts.h"

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
    {MEMBER(sha256, DIGEST, false)},
    {NULL, NADIR_MEMBER_VERSION, false, 0},
};
_Static_assert(sizeof nadir_witness_members / sizeof *nadir_witness_members <= 64, "a bit for each");

const nadir_file_digest_form nadir_witness_digest_form = {.before = ",\n  \"sha256\": \"",
                                                          .after = "\"\n}\n"};

void nadir_witness_default(nadir_witness *witness)
{
    *witness = (nadir_witness){.norm = NAN};
    for (const nadir_member *at = nadir_witness_members; at->name != NULL; at++) {
        if (at->kind == NADIR_MEMBER_NUMBER) {
            void *number = (char *)witness + at->offset;
            *(double *)number = NAN;
        }
    }
}

void nadir_witness_clear(nadir_context *context, nadir_witness *witness)
{
    nadir_release(context, witness->owned);
    nadir_release(context, witness->owned_names);
    nadir_witness_default(witness);
}

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
