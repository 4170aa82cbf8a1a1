/*
 * number.h: numbers as text, the same in every locale and in every rounding mode. Texts are ranges [at, end);
 * nothing at or past end is read.
 */
#ifndef NADIR_CORE_NUMBER_H
#define NADIR_CORE_NUMBER_H

#include "nadir.h" /* nadir_format_double */

#include <stdint.h>

/* Room for any printed double with its terminating zero. */
#define NADIR_NUMBER_LENGTH 32

/* Reads the longest prefix of [at, end) of the form [+-]digits[.digits][e[+-]digits], with digits on at least
 * one side of the point, or [+-]inf, infinity, nan in any case. No blanks are skipped and there are no hex
 * forms. The value is the double nearest to the decimal, ties to even; too large gives ±inf, too small ±0.
 * Returns the first character after the number, or NULL with *value untouched where there is none. */
const char *nadir_number_parse_double(const char *self, const char *end, double *value);

/* Reads [+-]digits. Returns the first character after them, or NULL with *value untouched where there are no
 * digits or the number does not fit. */
const char *nadir_number_parse_int64(const char *self, const char *end, int64_t *value);

#endif
