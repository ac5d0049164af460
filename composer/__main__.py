"""`python -m composer`."""

from composer.cli import main

if __name__ == "__main__":
    main()
