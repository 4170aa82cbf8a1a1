/*
 * target_number.c: numbers as text, compared with those of the C library: the same bits, the same end. Eight
 * bytes are also taken for a double, which must survive being printed.
 */
#include "fuzz.h"

#include "core/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_nan_text(const char *text)
{
    return strpbrk(text, "nN") != NULL;
}

/* The C library also takes blanks, hexadecimal digits and "nan(...)". */
static void compare_double(const char *text, size_t length)
{
    double value = 0;
    const char *end = nadir_number_parse_double(text, text + length, &value);
    if (end == NULL || text[strspn(text, "+-")] == ' ') {
        return;
    }
    char *theirs;
    const double expected = strtod(text, &theirs);
    if (strpbrk(text, "xX") != NULL || (is_nan_text(text) && isnan(value))) {
        return;
    }
    fuzz_require(end == theirs, "a number ends where the C library says");
    fuzz_require(memcmp(&value, &expected, sizeof value) == 0, "a number has the bits of the C library");
}

static void compare_integer(const char *text, size_t length)
{
    int64_t value = 0;
    if (nadir_number_parse_int64(text, text + length, &value) != NULL) {
        fuzz_require(value == strtoll(text, NULL, 10), "an integer is that of the C library");
    }
}

static void print_and_read(double value)
{
    char text[NADIR_NUMBER_LENGTH];
    double again = 0;
    const int length = nadir_format_double(value, text);
    fuzz_require(length > 0 && length < NADIR_NUMBER_LENGTH && text[length] == '\0', "a text has its length");
    fuzz_require(nadir_number_parse_double(text, text + length, &again) == text + length, "it is a number");
    fuzz_require(isnan(value) ? isnan(again) : memcmp(&value, &again, sizeof value) == 0, "and the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    double value;
    char *text = malloc(size + 1);
    fuzz_require(text != NULL, "there is memory for the text");
    memcpy(text, bytes, size);
    text[size] = '\0';
    compare_double(text, strlen(text));
    compare_integer(text, strlen(text));
    for (size_t i = 0; i + sizeof value <= size; i += sizeof value) {
        memcpy(&value, bytes + i, sizeof value);
        print_and_read(value);
    }
    free(text);
    return 0;
}
