# Language, warnings and code generation, the same for every target of the project.

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden) # NADIR_API marks what is exported
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # clang-tidy and cppcheck read it

# -std=c17 alone hides the POSIX calls (fsync, mkstemp, locale_t).
add_compile_definitions(_GNU_SOURCE)

add_compile_options(
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -ffp-contract=off # no fused operations: the same bits from every compiler and processor
    $<$<CONFIG:Release>:-g1>)
if(NADIR_WERROR)
    add_compile_options(-Werror)
endif()

if(NADIR_SANITIZE)
    add_compile_options(-fsanitize=${NADIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${NADIR_SANITIZE})
    # Loops marked for vector instructions cannot have them when every access is checked.
    add_compile_options($<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
endif()

if(NADIR_COVERAGE)
    # Several threads and several programs count at once.
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()
