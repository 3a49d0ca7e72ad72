(define (domain transport)
  (:requirements :strips :typing)
  (:types location package size vehicle)
  (:predicates (road ?x ?y) (at ?x ?y) (in ?x ?y) (capacity ?x ?y) (capacity-predecessor ?x ?y))
  (:action drive
    :parameters (?v - vehicle ?l1 - location ?l2 - location)
    :precondition (and (at ?v ?l1) (road ?l1 ?l2))
    :effect (and (at ?v ?l2) (not (at ?v ?l1))))
  (:action pick-up
    :parameters (?v - vehicle ?l - location ?p - package ?s1 - size ?s2 - size)
    :precondition (and (at ?v ?l) (at ?p ?l) (capacity-predecessor ?s1 ?s2) (capacity ?v ?s2))
    :effect (and (in ?p ?v) (capacity ?v ?s1) (not (at ?p ?l)) (not (capacity ?v ?s2))))
  (:action drop
    :parameters (?v - vehicle ?l - location ?p - package ?s1 - size ?s2 - size)
    :precondition (and (at ?v ?l) (in ?p ?v) (capacity-predecessor ?s1 ?s2) (capacity ?v ?s1))
    :effect (and (at ?p ?l) (capacity ?v ?s2) (not (in ?p ?v)) (not (capacity ?v ?s1)))))
