-- Asks a service for the rows of a file in turn, by all connections of wrk together at a fixed rate, and keeps what it answers with 200.
--
--     wrk -t1 -c1000 -d60s --timeout 120s -s benches/overload.lua http://127.0.0.1:8077/v1/check -- SAMPLES.jsonl ANSWERS.jsonl 8.3
--
-- The last number is the seconds that a connection is idle before it asks, on average. `python3 benches/serve_ratio.py --overload` runs it.

local rows, place, answers, seconds = {}, 0, nil, 0

function init(given)
    for line in io.lines(given[1]) do
        rows[#rows + 1] = line
    end
    answers, seconds = assert(io.open(given[2], "w")), tonumber(given[3])
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
end

-- what sends nothing for ten seconds after it was opened is closed
local LONGEST = 9000

function delay()
    return math.floor(math.min(2000 * seconds * math.random(), LONGEST))
end

function request()
    place = place % #rows + 1
    return wrk.format(nil, nil, nil, rows[place])
end

function response(status, _, body)
    if status == 200 then
        answers:write(body, "\n")
        answers:flush()
    end
end

function done(summary)
    local errors = summary.errors
    local broken = errors.connect + errors.read + errors.write + errors.timeout
    io.write(string.format('\n{"requests": %d, "seconds": %.3f, "refused": %d, "broken": %d}\n', summary.requests,
        summary.duration / 1e6, errors.status, broken))
end
