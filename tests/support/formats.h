/* formats.h: reading and writing models in a file format, for unit tests. Include support/support.h first. */
#ifndef NADIR_TESTS_FORMATS_H
#define NADIR_TESTS_FORMATS_H

#include "io/format.h"

/* The defaults, but that rewards of transitions are kept. */
nadir_read_settings test_read_settings(void);

/* settings: NULL for test_read_settings. *model is NULL where it fails. */
nadir_status test_format_read(nadir_context *context, const nadir_format *format, const char *path,
                              const nadir_read_settings *settings, nadir_model **model);
nadir_status test_format_write(nadir_context *context, const nadir_format *format, const nadir_model *model,
                               const char *path);

/* The model of a file at `path` that has this text. To be freed. */
nadir_model *test_format_read_text(nadir_context *context, const nadir_format *format, const char *path,
                                   const char *text);
/* Both texts give the same model, and the two of them this message; NULL: any. */
void test_format_assert_same(const nadir_format *format, const char *path, const char *left,
                             const char *right, const char *message);
/* The file is refused with these words, before anything large is allocated. */
void test_format_refuse(const nadir_format *format, const char *path, const nadir_read_settings *settings,
                        nadir_status expected, const char *words);

/* test_run_out for reading the file and writing it again, to as many `files` as there are whose names begin
 * with "scarce.": none of them is there until all are. */
int64_t test_format_run_out(const nadir_format *format, const char *path, const nadir_read_settings *settings,
                            const char *copy_path, int files);

#endif
