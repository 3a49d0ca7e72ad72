(define (domain spanner)
  (:requirements :strips :typing)
  (:types location man nut spanner)
  (:predicates (at ?x ?y) (carrying ?x ?y) (usable ?x) (link ?x ?y) (tightened ?x) (loose ?x))
  (:action walk
    :parameters (?start - location ?end - location ?m - man)
    :precondition (and (at ?m ?start) (link ?start ?end))
    :effect (and (at ?m ?end) (not (at ?m ?start))))
  (:action pickup_spanner
    :parameters (?l - location ?s - spanner ?m - man)
    :precondition (and (at ?m ?l) (at ?s ?l))
    :effect (and (carrying ?m ?s) (not (at ?s ?l))))
  (:action tighten_nut
    :parameters (?l - location ?s - spanner ?m - man ?n - nut)
    :precondition (and (at ?m ?l) (at ?n ?l) (carrying ?m ?s) (usable ?s) (loose ?n))
    :effect (and (tightened ?n) (not (loose ?n)) (not (usable ?s)))))
