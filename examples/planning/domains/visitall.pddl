(define (domain visitall)
  (:requirements :strips :typing)
  (:types place)
  (:predicates (at-robot ?x) (connected ?x ?y) (visited ?x))
  (:action move
    :parameters (?from - place ?to - place)
    :precondition (and (at-robot ?from) (connected ?from ?to))
    :effect (and (at-robot ?to) (visited ?to) (not (at-robot ?from)))))
