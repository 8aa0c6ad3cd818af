def split(cents, waiters):
    share, rest = divmod(cents, waiters)
    return [share + (number < rest) for number in range(waiters)]
