/* test_file.c: files read without trust, written whole or not at all. */
#include "support/support.h"

#include "core/context.h"
#include "core/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_entries(void)
{
    int count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static void assert_content(const char *name, const char *expected)
{
    char content[256] = "";
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(content, expected);
}

static void test_what_is_no_regular_file(void **state)
{
    nadir_context *context = *state;
    nadir_input input;
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_fails(context, nadir_input_open(context, "folder", &input), NADIR_ERROR_FILE, "a directory");
    assert_fails(context, nadir_input_open(context, "pipe", &input), NADIR_ERROR_FILE, "pipe");
    assert_fails(context, nadir_input_open(context, "missing", &input), NADIR_ERROR_FILE, "No such file");
    nadir_input_close(&input);
    assert_int_equal(rmdir("folder"), 0);
    assert_int_equal(unlink("pipe"), 0);
}

static void test_reading_past_the_end(void **state)
{
    nadir_context *context = *state;
    nadir_input input;
    char buffer[16];
    size_t got;
    test_write_file("short", "12345");
    assert_ok(context, nadir_input_open(context, "short", &input));
    assert_int_equal(input.bytes, 5);
    assert_ok(context, nadir_input_read(context, &input, buffer, 3, &got));
    assert_int_equal(got, 3);
    assert_fails(context, nadir_input_read_all(context, &input, buffer, 3, "the number"), NADIR_ERROR_FORMAT,
                 "short: the file ends in the middle of the number");
    nadir_input_close(&input);
    assert_int_equal(unlink("short"), 0);
}

/* As if another program wrote it anew while it is read. */
static void test_a_file_that_shrinks(void **state)
{
    nadir_context *context = *state;
    nadir_input input;
    char buffer[16];
    size_t got;
    test_write_file("shrinks", "1\n2\n3\n4\n");
    assert_ok(context, nadir_input_open(context, "shrinks", &input));
    assert_ok(context, nadir_input_read(context, &input, buffer, 2, &got));
    assert_int_equal(truncate("shrinks", 4), 0);
    assert_fails(context, nadir_input_read(context, &input, buffer, 16, &got), NADIR_ERROR_IO,
                 "shrinks: reading failed: the file ends after 4 bytes, and had 8 when it was opened");
    assert_fails(context, nadir_input_read_at(context, &input, 2, buffer, 16, &got), NADIR_ERROR_IO,
                 "ends after 4 bytes");
    assert_fails(context, nadir_input_read_all(context, &input, buffer, 1, "a line"), NADIR_ERROR_IO,
                 "ends after 4 bytes");
    assert_ok(context, nadir_input_read_at(context, &input, 1, buffer, 3, &got));
    assert_int_equal(got, 3);
    /* One that grows is read to its new end. */
    test_write_file("shrinks", "1\n2\n3\n4\n5\n");
    assert_ok(context, nadir_input_seek(context, &input, 6));
    assert_ok(context, nadir_input_read(context, &input, buffer, 16, &got));
    assert_int_equal(got, 4);
    nadir_input_close(&input);
    assert_int_equal(unlink("shrinks"), 0);
}

/* Writing over what was written, across its end, and after that at the end. */
static void test_write_at(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    assert_ok(context, nadir_output_open(context, "out", &output));
    nadir_output_text(&output, "abcdef");
    nadir_output_write_at(&output, 1, "XY", 2);
    nadir_output_write_at(&output, 4, "12345", 5);
    nadir_output_text(&output, "end");
    nadir_output_write_at(&output, 0, "_", 1);
    assert_int_equal(output.written, 12);
    assert_ok(context, nadir_output_commit(context, &output));
    nadir_output_close(context, &output);
    assert_content("out", "_XYd12345end");
    assert_int_equal(unlink("out"), 0);
}

static void test_commit_replaces(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    test_write_file("out", "old");
    assert_ok(context, nadir_output_open(context, "out", &output));
    nadir_output_text(&output, "a ");
    nadir_output_integer(&output, INT64_MIN);
    nadir_output_text(&output, " ");
    nadir_output_double(&output, 0.1);
    nadir_output_format(&output, " %d\n", 0);
    assert_content("out", "old"); /* until the commit */
    assert_ok(context, nadir_output_commit(context, &output));
    nadir_output_close(context, &output);
    assert_content("out", "a -9223372036854775808 0.1 0\n");
    assert_int_equal(count_entries(), 1);
    assert_int_equal(unlink("out"), 0);
}

static void test_large_and_small_writes_keep_their_order(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    static char large[200000];
    memset(large, 'L', sizeof large);
    assert_ok(context, nadir_output_open(context, "out", &output));
    nadir_output_text(&output, "begin");
    nadir_output_write(&output, large, sizeof large);
    nadir_output_text(&output, "end");
    assert_int_equal(output.written, 8 + sizeof large);
    assert_ok(context, nadir_output_commit(context, &output));
    nadir_output_close(context, &output);
    FILE *file = fopen("out", "rb");
    assert_non_null(file);
    static char read[200008];
    assert_int_equal(fread(read, 1, sizeof read, file), sizeof read);
    fclose(file);
    assert_memory_equal(read, "beginL", 6);
    assert_memory_equal(read + sizeof read - 4, "Lend", 4);
    assert_int_equal(unlink("out"), 0);
}

/* Text that is too long for one call is never cut in silence. */
static void test_formats_that_are_too_long(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    assert_ok(context, nadir_output_open(context, "out", &output));
    nadir_output_format(&output, "%1000d", 1);
    assert_fails(context, nadir_output_commit(context, &output), NADIR_ERROR_IO, "out: writing failed");
    nadir_output_close(context, &output);
    assert_int_equal(count_entries(), 0);
}

static void test_abandoned_output_leaves_nothing(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    assert_ok(context, nadir_output_open(context, "out", &output));
    nadir_output_text(&output, "half");
    assert_int_equal(count_entries(), 1);
    nadir_output_close(context, &output);
    assert_int_equal(count_entries(), 0);
}

static void test_permissions_follow_the_mask(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    const mode_t before = umask(027);
    assert_ok(context, nadir_output_open(context, "out", &output));
    assert_ok(context, nadir_output_commit(context, &output));
    nadir_output_close(context, &output);
    umask(before);
    struct stat facts;
    assert_int_equal(stat("out", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
    assert_int_equal(unlink("out"), 0);
}

static void test_places_that_cannot_be_written(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_fails(context, nadir_output_open(context, "folder", &output), NADIR_ERROR_IO, "a directory");
    assert_fails(context, nadir_output_open(context, "missing/out", &output), NADIR_ERROR_IO,
                 "missing/out: cannot write the file: No such file");
    assert_int_equal(rmdir("folder"), 0);
    assert_int_equal(count_entries(), 0);
}

/* /dev/full refuses every byte: the failure of an early write is kept until the commit. */
static void test_full_disk(void **state)
{
    nadir_context *context = *state;
    nadir_output output;
    assert_ok(context, nadir_output_open(context, "out", &output));
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_true(dup2(fileno(full), output.descriptor) >= 0);
    nadir_output_text(&output, "lost");
    assert_fails(context, nadir_output_commit(context, &output), NADIR_ERROR_IO, "No space left");
    nadir_output_close(context, &output);
    fclose(full);
    assert_int_equal(count_entries(), 0);
}

static void test_digest_of_a_file(void **state)
{
    nadir_context *context = *state;
    char digest[65];
    test_write_file("abc", "abc");
    assert_ok(context, nadir_file_digest(context, "abc", digest));
    assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(unlink("abc"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_what_is_no_regular_file),
        test_with_context(test_reading_past_the_end),
        test_with_context(test_commit_replaces),
        test_with_context(test_large_and_small_writes_keep_their_order),
        test_with_context(test_formats_that_are_too_long),
        test_with_context(test_abandoned_output_leaves_nothing),
        test_with_context(test_permissions_follow_the_mask),
        test_with_context(test_places_that_cannot_be_written),
        test_with_context(test_full_disk),
        test_with_context(test_a_file_that_shrinks),
        test_with_context(test_write_at),
        test_with_context(test_digest_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
