/*
 * target_json.c: JSON, member by member. The first byte says how values are taken: by what they look like, or
 * as something that they need not be.
 */
#include "fuzz.h"

#include "io/json.h"

#include <math.h>
#include <string.h>

static nadir_status take(nadir_json *json, nadir_json_kind kind)
{
    bool truth;
    double number = 0;
    double numbers[8];
    int64_t count = 0;
    char text[32];
    nadir_status status;
    switch (kind) {
    case NADIR_JSON_NULL:
        return nadir_json_null(json);
    case NADIR_JSON_BOOL:
        return nadir_json_bool(json, &truth);
    case NADIR_JSON_NUMBER:
        status = nadir_json_number(json, &number);
        fuzz_require(status != NADIR_OK || isfinite(number), "numbers are finite");
        return status;
    case NADIR_JSON_STRING:
        status = nadir_json_string(json, sizeof text, text);
        fuzz_require(status != NADIR_OK || strlen(text) < sizeof text, "texts end");
        return status;
    case NADIR_JSON_ARRAY:
        status = nadir_json_numbers(json, 8, numbers, &count);
        fuzz_require(status != NADIR_OK || (count >= 0 && count <= 8),
                     "no more numbers than there is room for");
        return status;
    default:
        return nadir_json_skip(json);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    nadir_json json;
    bool more = true;
    const char *path = fuzz_file(".json", bytes + 1, size - 1);
    nadir_status status = nadir_json_open(context, path, 1 << 16, &json);
    while (status == NADIR_OK && more) {
        status = nadir_json_next(&json, &more);
        if (status == NADIR_OK && more) {
            fuzz_require(strlen(json.name) < NADIR_JSON_NAME_LENGTH, "names end");
            const unsigned wrong = bytes[0] >> (json.members % 8) & 1U;
            status = take(&json, wrong != 0 ? (nadir_json_kind)(json.members % 7) : nadir_json_peek(&json));
        }
    }
    nadir_json_close(&json);
    nadir_context_free(context);
    return 0;
}
