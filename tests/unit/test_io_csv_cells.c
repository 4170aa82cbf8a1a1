/* test_io_csv_cells.c: cells, headers and rows of comma-separated tables. */
#include "support/support.h"

#include "io/csv_cells.h"

#include <string.h>

static const nadir_csv_column columns[] = {
    {.names = {"id", "state", "s"}},
    {.names = {"value"}},
    {.names = {"note"}, .optional = true},
};

/* The cells of `line`, each in brackets. */
static const char *cells_of(const char *line)
{
    static char found[256];
    nadir_cursor rest = {line, line + strlen(line)};
    nadir_cursor cell;
    bool open;
    found[0] = '\0';
    while (nadir_csv_next_cell(&rest, &cell, &open)) {
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "[%.*s]%s", NADIR_WORD(cell),
                       open ? "!" : "");
    }
    assert_false(nadir_csv_next_cell(&rest, &cell, &open));
    return found;
}

static void test_plain_cells(void **state)
{
    (void)state;
    assert_string_equal(cells_of("1,2,3"), "[1][2][3]");
    assert_string_equal(cells_of("one"), "[one]");
    assert_string_equal(cells_of(" 1 ,\t2\t, a b "), "[1][2][a b]");
}

static void test_empty_cells(void **state)
{
    (void)state;
    assert_string_equal(cells_of(""), "[]");
    assert_string_equal(cells_of(","), "[][]");
    assert_string_equal(cells_of("1,,3"), "[1][][3]");
    assert_string_equal(cells_of("1,2,"), "[1][2][]");
    assert_string_equal(cells_of("\"\",\" \""), "[][]");
}

static void test_quoted_cells(void **state)
{
    (void)state;
    assert_string_equal(cells_of("\"1\", \"2\" ,\"a,b\""), "[1][2][a,b]");
    assert_string_equal(cells_of("\"say \"\"x, y\"\" twice\",2"), "[say \"\"x, y\"\" twice][2]");
    assert_string_equal(cells_of("\" 7 \""), "[7]");
}

/* What is not well quoted stays as it is, so that no number can be read from it; an open quote, here marked !, is told. */
static void test_bad_quotes(void **state)
{
    (void)state;
    assert_string_equal(cells_of("\"1,2"), "[\"1]![2]");
    assert_string_equal(cells_of("\"1\"2,3"), "[\"1\"2]![3]");
    assert_string_equal(cells_of("\""), "[\"]!");
    assert_string_equal(cells_of("\"\"\""), "[\"\"\"]!");
    assert_string_equal(cells_of("1\"2\",3"), "[1\"2\"][3]");
}

/* Reads the header of `table` and its first row. */
static nadir_status read_table(nadir_context *context, const char *table, nadir_csv_header *header,
                               int64_t *id, double *value)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    bool more;
    test_write_file("table.csv", table);
    NADIR_CHECK(nadir_text_open(context, "table.csv", &text));
    NADIR_CHECK(nadir_csv_read_header(&text, 3, columns, false, header));
    NADIR_CHECK(nadir_csv_read_row(&text, header, cells, &more));
    assert_true(more);
    assert_int_equal(cells[2].at != NULL, header->positions[2] >= 0);
    NADIR_CHECK(nadir_csv_integer(&text, header, cells, 0, id));
    NADIR_CHECK(nadir_csv_double(&text, header, cells, 1, value));
    NADIR_CHECK(nadir_csv_read_row(&text, header, cells, &more));
    assert_false(more);
cleanup:
    nadir_text_close(&text);
    return status;
}

static void expect(const char *table, int64_t id, double value, int64_t width)
{
    nadir_context *context = test_context();
    nadir_csv_header header = {0};
    int64_t found_id = -1;
    double found_value = -1;
    assert_ok(context, read_table(context, table, &header, &found_id, &found_value));
    assert_int_equal(found_id, id);
    assert_true(found_value == value);
    assert_int_equal(header.width, width);
    nadir_context_free(context);
}

static void test_columns_in_any_order(void **state)
{
    (void)state;
    expect("id,value\n3,0.5\n", 3, 0.5, 2);
    expect("value,id\n0.5,3\n", 3, 0.5, 2);
    expect("note,value,other,id\nx,0.5,y,3\n", 3, 0.5, 4);
}

static void test_names_in_any_case_and_aliases(void **state)
{
    (void)state;
    expect("ID,Value\n3,0.5\n", 3, 0.5, 2);
    expect("\"State\" , \"VALUE\"\n\"3\",\"0.5\"\n", 3, 0.5, 2);
    expect("s,value\n3,0.5", 3, 0.5, 2);
}

static void test_blank_lines_and_comments(void **state)
{
    (void)state;
    expect("# a table\r\n\r\n  # of two\r\nid,value\r\n   \r\n#0,0\r\n3,0.5\r\n\r\n#end", 3, 0.5, 2);
}

static void test_whole_numbers(void **state)
{
    (void)state;
    expect("id,value\n3.0,5\n", 3, 5, 2);
    expect("id,value\n1e3,5e-1\n", 1000, 0.5, 2);
    expect("id,value\n-4,-.5\n", -4, -0.5, 2);
    expect("id,value\n9223372036854775807,1\n", INT64_MAX, 1, 2);
}

static void refuse(const char *table, const char *words)
{
    nadir_context *context = test_context();
    nadir_csv_header header;
    int64_t id;
    double value;
    assert_fails(context, read_table(context, table, &header, &id, &value), NADIR_ERROR_FORMAT, words);
    nadir_context_free(context);
}

static void test_bad_headers(void **state)
{
    (void)state;
    refuse("",
           "table.csv: the file holds no lines; expected a header with the columns `id` or `state`, `value`");
    refuse("# nothing\n\n", "the file holds no lines");
    refuse("note,id\n", "table.csv:1: missing column `value`; the header must name `id` or `state`, `value`");
    refuse("id,value,STATE\n", "table.csv:1: the header names column `id` twice: `id` and `state`");
    refuse("\n#\nid;value\n",
           "table.csv:3: missing column `id`; the header must name `id` or `state`, `value`, with "
           "commas (not semicolons or tabs) between them");
    refuse("id\tvalue\n", "with commas");
}

static void test_bad_rows(void **state)
{
    (void)state;
    refuse("id,value\n3\n", "table.csv:2: 1 cell; expected 2");
    refuse("id,value\n3,1,\n", "table.csv:2: 3 cells; expected 2");
    refuse("id,value\n\n,1\n", "table.csv:3: `id` is ``; expected a whole number");
    refuse("id,value\n1.5,1\n", "`id` is `1.5`; expected a whole number");
    refuse("value,State\n1,1.5\n", "`state` is `1.5`; expected a whole number");
    refuse("id,value\n1e300,1\n", "`id` is `1e300`; expected a whole number");
    refuse("id,value\nnan,1\n", "`id` is `nan`; expected a whole number");
    refuse("id,value\n9223372036854775808,1\n", "`id` is `9223372036854775808`");
    refuse("id,value\n1,\n", "`value` is ``; expected a number");
    refuse("id,value\n1,0.5x\n", "`value` is `0.5x`; expected a number");
    refuse("id,value\n1,0 5\n", "`value` is `0 5`; expected a number");
    refuse("id,value\n1,\"0.5\n", "table.csv:2: the quote of `\"0.5` is not closed before the next comma");
    refuse("id,\"value\n1,0.5\n", "table.csv:1: the quote of `\"value` is not closed");
    refuse("id,value\r1,0.5\r", "table.csv:1: lines end with CR alone");
    refuse("id,value\n1,0x10\n", "`value` is `0x10`; expected a number");
}

static void test_unused_columns_are_named_once(void **state)
{
    nadir_context *context = *state;
    nadir_csv_header header;
    int64_t id;
    double value;
    assert_ok(context, read_table(context, "a,id,\"b c\",value\n,1,,2\n", &header, &id, &value));
    assert_string_equal(test_messages(), "table.csv: columns not used: `a`, `b c`\n");
}

static void test_long_list_of_unused_columns(void **state)
{
    char table[8192] = "id,value";
    for (int i = 0; i <= 900; i++) {
        const size_t used = strlen(table);
        (void)snprintf(table + used, sizeof table - used, ",column%d%s", i % 9, i < 900 ? "" : "\n1,2\n");
    }
    nadir_context *context = *state;
    nadir_csv_header header;
    int64_t id;
    double value;
    assert_fails(context, read_table(context, table, &header, &id, &value), NADIR_ERROR_FORMAT,
                 "2 cells; expected 903");
    const char *list = test_messages();
    assert_non_null(strstr(list, "`column0`, `column1`"));
    assert_string_equal(list + strlen(list) - 6, ", ...\n");
    assert_true(strlen(list) < 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_cells),
        cmocka_unit_test(test_empty_cells),
        cmocka_unit_test(test_quoted_cells),
        cmocka_unit_test(test_bad_quotes),
        cmocka_unit_test(test_columns_in_any_order),
        cmocka_unit_test(test_names_in_any_case_and_aliases),
        cmocka_unit_test(test_blank_lines_and_comments),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_bad_rows),
        test_with_context(test_unused_columns_are_named_once),
        test_with_context(test_long_list_of_unused_columns),
    };
    return cmocka_run_group_tests_name("CSV cells", tests, NULL, NULL);
}
