/* test_witness.c: witnesses written to files and read back, and files that are wrong. */
#include "support/numpy.h"

#include "support/scarce.h"

#include "io/result_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char digest_a[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char digest_b[] = "ffffffffffffffff0123456789abcdef0123456789abcdef0123456789abcdef";

/* For the rich model: 4 states, 7 rows. Every kind of double, and numbers that need all their digits. */
static const double vectors[6][4] = {
    {0.1, -0.0, 5e-324, -1.7976931348623157e308},
    {0.30000000000000004, 1.0 / 3, 1e-320, 2.2250738585072014e-308},
    {1e15, 1e16, 123456789012345680.0, 9007199254740992.0},
    {1e22, 1e23, 0.0001, 0.00001},
    {-1, 0, 1, 2.5},
    {4.35, 0.000034, 2e-308, 8.98846567431158e307},
};
static const double radii[] = {0, 0.1, 0.2, 0.3, 1e-300, 1e300, 5e-324};

static nadir_witness full_witness(void)
{
    nadir_witness witness;
    nadir_witness_default(&witness);
    memcpy(witness.model_sha256, digest_a, sizeof digest_a);
    memcpy(witness.policy_sha256, digest_b, sizeof digest_b);
    memcpy(witness.model_file_sha256, digest_b, sizeof digest_b);
    memcpy(witness.policy_file_sha256, digest_a, sizeof digest_a);
    memcpy(witness.kernel_sha256, digest_b, sizeof digest_b);
    witness.set = NADIR_SET_NONRECT;
    witness.domain = NADIR_DOMAIN_FREE;
    witness.norm = 2;
    witness.radius = radii + 1;
    witness.radius_count = 1;
    witness.nominal_return = 536.0313205621201;
    witness.robust_return = -0.0;
    witness.lower_bound = 0x1.fffffffffffffp-1;
    witness.upper_bound = 1;
    witness.certificate = "rigorous";
    witness.bound = "spectral";
    witness.lambda = 1e-9;
    witness.breakdown_low = 0.24;
    witness.breakdown_proof = "columns";
    witness.kappa = 0.1 + 0.2;
    witness.tau = 7;
    witness.c = vectors[0];
    witness.k = vectors[1];
    witness.c2 = vectors[2];
    witness.k2 = vectors[3];
    witness.v = vectors[4];
    witness.d_bar = vectors[5];
    witness.steps = vectors[4];
    witness.steps_count = 3;
    return witness;
}

static void assert_same_number(double a, double b)
{
    if (!isfinite(a)) {
        assert_true(isnan(b)); /* null */
    } else {
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void assert_same_numbers(const double *a, const double *b, int64_t count)
{
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL) {
        assert_memory_equal(a, b, (size_t)count * sizeof *a);
    }
}

static void assert_same_text(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL) {
        assert_string_equal(a, b);
    }
}

static void assert_witnesses_equal(const nadir_witness *a, const nadir_witness *b)
{
    assert_string_equal(a->model_sha256, b->model_sha256);
    assert_string_equal(a->policy_sha256, b->policy_sha256);
    assert_string_equal(a->model_file_sha256, b->model_file_sha256);
    assert_string_equal(a->policy_file_sha256, b->policy_file_sha256);
    assert_string_equal(a->kernel_sha256, b->kernel_sha256);
    assert_int_equal(a->set, b->set);
    assert_int_equal(a->domain, b->domain);
    assert_true(a->norm == b->norm);
    assert_int_equal(a->radius_count, b->radius_count);
    assert_same_numbers(a->radius, b->radius, a->radius_count);
    assert_int_equal(a->optimistic, b->optimistic);
    assert_same_number(a->nominal_return, b->nominal_return);
    assert_same_number(a->robust_return, b->robust_return);
    assert_same_number(a->lower_bound, b->lower_bound);
    assert_same_number(a->upper_bound, b->upper_bound);
    assert_same_text(a->certificate, b->certificate);
    assert_same_text(a->bound, b->bound);
    assert_same_number(a->lambda, b->lambda);
    assert_same_number(a->breakdown_low, b->breakdown_low);
    assert_same_text(a->breakdown_proof, b->breakdown_proof);
    assert_same_number(a->kappa, b->kappa);
    assert_same_number(a->tau, b->tau);
    assert_same_numbers(a->c, b->c, 4);
    assert_same_numbers(a->k, b->k, 4);
    assert_same_numbers(a->c2, b->c2, 4);
    assert_same_numbers(a->k2, b->k2, 4);
    assert_same_numbers(a->v, b->v, 4);
    assert_same_numbers(a->d_bar, b->d_bar, 4);
    assert_int_equal(a->steps_count, b->steps_count);
    assert_same_numbers(a->steps, b->steps, a->steps_count);
}

static void round_trip(const nadir_witness *witness)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    nadir_witness back;
    const size_t before = nadir_context_memory(context);
    assert_ok(context, nadir_witness_write(context, model, witness, "witness.json"));
    assert_int_equal(nadir_context_memory(context), before);
    assert_ok(context, nadir_witness_read(context, model, "witness.json", &back));
    assert_witnesses_equal(witness, &back);
    assert_ok(context, nadir_witness_write(context, model, &back, "again.json"));
    nadir_witness_clear(context, &back);
    assert_int_equal(nadir_context_memory(context), before);
    assert_null(back.c);
    assert_true(isnan(back.norm) && isnan(back.tau));
    size_t sizes[2];
    unsigned char *first = test_read_bytes("witness.json", &sizes[0]);
    unsigned char *second = test_read_bytes("again.json", &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(first, second, sizes[0]);
    free(first);
    free(second);
    assert_string_equal(test_messages(), "");
    nadir_model_free(model);
    nadir_context_free(context);
}

static void witnesses_come_back(void **state)
{
    (void)state;
    nadir_witness witness = full_witness();
    round_trip(&witness);
    witness.norm = INFINITY;
    witness.set = NADIR_SET_S;
    witness.domain = NADIR_DOMAIN_SUPPORT;
    witness.radius = radii;
    witness.radius_count = 4;
    witness.optimistic = true;
    witness.lower_bound = -INFINITY;
    witness.breakdown_low = INFINITY;
    witness.lambda = NAN;
    witness.breakdown_proof = NULL;
    witness.c = NULL;
    witness.k2 = NULL;
    round_trip(&witness);
    witness.norm = 1.0000000000000002;
    witness.set = NADIR_SET_SA;
    witness.domain = NADIR_DOMAIN_SIMPLEX;
    witness.radius_count = 7;
    round_trip(&witness);
    nadir_witness_default(&witness); /* no more than what is needed */
    memcpy(witness.model_sha256, digest_a, sizeof digest_a);
    memcpy(witness.policy_sha256, digest_b, sizeof digest_b);
    witness.set = NADIR_SET_NONRECT;
    witness.domain = NADIR_DOMAIN_FREE;
    witness.norm = 1;
    witness.radius = radii;
    witness.radius_count = 1;
    round_trip(&witness);
}

/* Doubles of any bits. */
static void many_doubles_come_back(void **state)
{
    (void)state;
    double numbers[6][4];
    uint64_t bits = 88172645463325252U;
    nadir_witness witness = full_witness();
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 24; i++) {
            double *number = &numbers[i / 4][i % 4];
            do {
                bits ^= bits << 13;
                bits ^= bits >> 7;
                bits ^= bits << 17;
                memcpy(number, &bits, sizeof bits);
            } while (!isfinite(*number));
        }
        test_note("round %d", round);
        witness.c = numbers[0];
        witness.k = numbers[1];
        witness.c2 = numbers[2];
        witness.k2 = numbers[3];
        witness.v = numbers[4];
        witness.d_bar = numbers[5];
        round_trip(&witness);
    }
    test_note_clear();
}

static void refuse_to_write(const nadir_witness *witness, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    assert_fails(context, nadir_witness_write(context, model, witness, "refused.json"), NADIR_ERROR_ARGUMENT,
                 words);
    assert_int_equal(test_count_files("refused"), 0);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void what_cannot_be_read_is_not_written(void **state)
{
    const double wrong[] = {0, 1, NAN, 3, -1, 0, 0};
    const nadir_witness good = full_witness();
    nadir_witness bad = good;
    bad.v = wrong;
    refuse_to_write(&bad, "witness: entry 2 of v is nan");
    bad = good;
    bad.radius = wrong + 4;
    refuse_to_write(&bad, "witness: entry 0 of radius is -1");
    bad = good;
    bad.radius_count = 3;
    refuse_to_write(&bad, "radius (of 3 numbers)");
    bad = good;
    bad.norm = NAN;
    refuse_to_write(&bad, "norm (which is nan)");
    bad = good;
    bad.set = NADIR_SET_UNSAID;
    refuse_to_write(&bad, "set, domain");
    bad = good;
    bad.bound = "a \"bound\"";
    refuse_to_write(&bad, "witness: bound is \"a \"bound\"\"");
    bad = good;
    bad.policy_sha256[3] = 'G';
    refuse_to_write(&bad, "witness: policy_sha256 is \"fffG");
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    assert_fails(context, nadir_witness_write(context, model, &good, "no/folder.json"), NADIR_ERROR_IO,
                 "no/folder.json");
    nadir_model_free(model);
}

static void refuse_file(const char *path, nadir_status expected, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model = test_rich_model(context);
    nadir_witness witness = {.tau = 5};
    const size_t before = nadir_context_memory(context);
    const nadir_status status = nadir_witness_read(context, model, path, &witness);
    assert_fails(context, status, expected, words);
    assert_fails(context, status, expected, path);
    assert_true(witness.tau == 5);
    assert_int_equal(nadir_context_memory(context), before);
    nadir_model_free(model);
    nadir_context_free(context);
}

static void refuse(const char *text, const char *words)
{
    test_note("%s", text);
    test_write_file("wrong.json", text);
    refuse_file("wrong.json", NADIR_ERROR_FORMAT, words);
    test_note_clear();
}

#define DIGEST_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NEEDED                                                                                               \
    "\"version\":1,\"model_sha256\":\"" DIGEST_A "\",\"policy_sha256\":\"" DIGEST_A                          \
    "\",\"set\":\"nonrect\",\"domain\":\"free\",\"norm\":2,\"radius\":0.1,\"optimistic\":false"

static void members_that_are_missing(void **state)
{
    (void)state;
    static const char *const needed[] = {"version", "model_sha256", "policy_sha256", "set",
                                         "domain",  "norm",         "radius",        "optimistic"};
    refuse_file("missing.json", NADIR_ERROR_FILE, "cannot open");
    refuse("", "expected a JSON object");
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        char text[1024] = "{" NEEDED "}";
        char words[64];
        (void)snprintf(words, sizeof words, "\"%s\":", needed[i]);
        char *place = strstr(text, words);
        assert_non_null(place);
        place[1] = 'x'; /* another name */
        (void)snprintf(words, sizeof words, "there is no member `%s`", needed[i]);
        refuse(text, words);
    }
}

static void members_that_are_there_twice(void **state)
{
    (void)state;
    refuse("{" NEEDED ",\n\"norm\":2}", "wrong.json:2: member `norm`: is there twice");
    refuse("{" NEEDED ",\"c\":[1,2,3,4],\"c\":[1,2,3,4]}", "member `c`: is there twice");
    refuse("{" NEEDED ",\"tau\":null,\"t\\u0061u\":1}", "member `tau`: is there twice");
    refuse("{" NEEDED ",\"radius\":[1,2,3,4]}", "member `radius`: is there twice");
}

static void members_of_a_wrong_kind(void **state)
{
    (void)state;
    refuse("{\"version\":2}", "member `version`: is 2; expected 1");
    refuse("{\"version\":\"1\"}", "member `version`: found `\"1\"}`; expected a number");
    refuse("{\"model_sha256\":\"abc\"}",
           "member `model_sha256`: found \"abc\"; expected 64 hexadecimal digits");
    refuse("{\"model_sha256\":\"" DIGEST_A "0\"}", "member `model_sha256`: a string is longer than 64 bytes");
    refuse("{\"model_sha256\":null}", "member `model_sha256`: found `null}`; expected a string");
    refuse("{\"set\":\"box\"}", "member `set`: found \"box\"; expected nonrect, s or sa");
    refuse("{\"set\":\"\"}", "member `set`: found \"\"");
    refuse("{\"domain\":\"set\"}", "member `domain`: found \"set\"; expected simplex, support, free or box");
    refuse("{\"domain\":3}", "member `domain`: found `3}`; expected a string");
    refuse("{\"norm\":0.5}", "member `norm`: expected a number of 1 or more, \"inf\" or \"chi2\"");
    refuse("{\"norm\":\"nan\"}", "member `norm`: expected a number of 1 or more, \"inf\" or \"chi2\"");
    refuse("{\"norm\":null}", "member `norm`: found `null}`; expected a number");
    refuse("{\"radius\":-1}", "member `radius`: number 0 is -1; expected 0 or more");
    refuse("{\"radius\":[0,1,2,-3]}", "member `radius`: number 3 is -3; expected 0 or more");
    refuse("{\"radius\":[1,2,3,4,5]}",
           "member `radius`: has 5 numbers; expected one, or one for each of 4 states or 7 rows");
    refuse("{\"radius\":[1,2,3,4,5,6,7,8]}", "member `radius`: the array has more than 7 numbers");
    refuse("{\"radius\":[]}", "member `radius`: has 0 numbers");
    refuse("{\"radius\":null}", "member `radius`: found `null}`; expected a number");
    refuse("{\"optimistic\":0}", "member `optimistic`: found `0}`; expected true or false");
    refuse("{\"tau\":\"7\"}", "member `tau`: found `\"7\"}`; expected a number");
    refuse("{\"tau\":1e999}", "member `tau`: found `1e999}`; expected a number that a double can hold");
    refuse("{\"tau\":[1]}", "member `tau`: found `[1]}`; expected a number");
    refuse("{\"bound\":1}", "member `bound`: found `1}`; expected a string");
    refuse("{\"bound\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}",
           "member `bound`: a string is longer than 63 bytes");
    refuse("{\"c\":[1,2,3]}", "member `c`: has 3 numbers; expected one for each of 4 states");
    refuse("{\"c\":[1,2,3,4,5]}", "member `c`: the array has more than 4 numbers");
    refuse("{\"d_bar\":[1,2,null,4]}", "member `d_bar`: found `null,4]}`; expected a number");
    refuse("{\"v\":null}", "member `v`: found `null}`; expected an array of numbers");
    refuse("{\"k2\":{}}", "member `k2`: found `{}}`; expected an array of numbers");
}

static void files_by_others_are_read(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    nadir_witness witness;
    test_write_file("theirs.json",
                    "{\"note\":{\"by\":[\"hand\"]},\"c\":[ 1,\n2,3,4 ]," NEEDED ",\"bound\":\"\\u0061\"}\n");
    assert_ok(context, nadir_witness_read(context, model, "theirs.json", &witness));
    assert_non_null(strstr(test_messages(), "theirs.json: 1 unknown member was ignored"));
    assert_string_equal(witness.bound, "a");
    assert_true(witness.c[3] == 4 && witness.k == NULL && isnan(witness.lambda));
    nadir_witness_clear(context, &witness);
    nadir_model_free(model);
}

static void files_that_are_too_large(void **state)
{
    (void)state;
    test_write_file("large.json", "{");
    assert_int_equal(truncate("large.json", 65536 + 40 * (6 * 4 + 7 + NADIR_STEPS_MOST) + 1), 0); /* a hole */
    refuse_file("large.json", NADIR_ERROR_FORMAT,
                "large.json: has 671155417 bytes; expected at most 671155416");
    assert_int_equal(unlink("large.json"), 0);
}

static nadir_status write_and_read(nadir_context *context, const void *of)
{
    const nadir_witness *witness = of;
    nadir_witness back;
    nadir_model *model = NULL;
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 4;
    nadir_witness_default(&back);
    nadir_status status = nadir_model_generate(context, "riverswim", &settings, &model);
    if (status == NADIR_OK) {
        status = nadir_witness_write(context, model, witness, "scarce.json");
    }
    if (status == NADIR_OK) {
        status = nadir_witness_read(context, model, "scarce.json", &back);
        assert_int_equal(remove("scarce.json"), 0);
    }
    nadir_witness_clear(context, &back);
    nadir_model_free(model);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    const nadir_witness witness = full_witness();
    test_run_out(write_and_read, &witness, "scarce", "witness");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(witnesses_come_back),
        cmocka_unit_test(many_doubles_come_back),
        test_with_context(what_cannot_be_read_is_not_written),
        cmocka_unit_test(members_that_are_missing),
        cmocka_unit_test(members_that_are_there_twice),
        cmocka_unit_test(members_of_a_wrong_kind),
        test_with_context(files_by_others_are_read),
        cmocka_unit_test(files_that_are_too_large),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
