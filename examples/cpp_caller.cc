// cpp_caller.cc: the library from C++17: a vector as the argument, lambdas as functions, a session
// that closes itself, and no exception that leaves a case.
//     c++ -std=c++17 -O2 cpp_caller.cc $(pkg-config --cflags --libs assay) -o cpp_caller
#include <assay/assay.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

struct closes {
    void operator()(assay_session *session) const { assay_session_close(session); }
};
using session_ptr = std::unique_ptr<assay_session, closes>;

static session_ptr open_session(const assay_session_options &options)
{
    assay_session *session = nullptr;
    assay_error err{};
    if (assay_session_open(&options, &session, &err) != ASSAY_OK)
        throw std::runtime_error(err.message);
    return session_ptr(session);
}

static int sort_copy(void *argument)
{
    try {
        auto copy = *static_cast<const std::vector<int> *>(argument);
        std::sort(copy.begin(), copy.end());
        return std::is_sorted(copy.begin(), copy.end()) ? 0 : 1;
    } catch (const std::exception &) {
        return 2; // an exception must not leave the case
    }
}

static void append(void *user, const char *bytes, size_t length)
{
    static_cast<std::string *>(user)->append(bytes, length);
}

int main()
{
    try {
        std::vector<int> values(50000);
        std::iota(values.rbegin(), values.rend(), 0);
        assay_session_options options;
        assay_session_options_init(&options);
        options.warmup = 2;
        options.iters = 10;
        session_ptr session = open_session(options);
        assay_case cases[2];
        assay_case_init(&cases[0], "sort_copy", sort_copy, &values);
        assay_case_init(
            &cases[1], "reverse",
            [](void *argument) {
                auto &all = *static_cast<std::vector<int> *>(argument);
                std::reverse(all.begin(), all.end());
                return 0;
            },
            &values);
        assay_error err{};
        if (assay_session_run_many(session.get(), cases, 2, &err) != ASSAY_OK)
            throw std::runtime_error(err.message);
        std::string table;
        assay_session_cases_table(session.get(), append, &table, &err);
        std::fputs(table.c_str(), stdout);
    } catch (const std::exception &problem) {
        std::fprintf(stderr, "cpp_caller: %s\n", problem.what());
        return 1;
    }
    return 0;
}
